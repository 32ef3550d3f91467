interface TimedCall {
  readonly startedAt: number;
  readonly endedAt: number;
}

/**
 * Groups calls into rounds: a call is in a later round than every call that had ended when it
 * started. There are as many rounds as sequential round trips.
 */
export function roundsOf<Call extends TimedCall>(calls: readonly Call[]): Call[][] {
  const rounds: Call[][] = [];
  const roundOf = new Map<Call, number>();
  for (const call of calls.toSorted((a, b) => a.startedAt - b.startedAt)) {
    const earlier = [...roundOf].filter(([{ endedAt }]) => endedAt < call.startedAt);
    const round = Math.max(-1, ...earlier.map(([, number]) => number)) + 1;
    roundOf.set(call, round);
    rounds[round] = [...(rounds[round] ?? []), call];
  }
  return rounds;
}
