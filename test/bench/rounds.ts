import type { AwsCall, AwsResponse } from '../../infra/local/calls/aws-call.ts';

/** A call of a function to AWS and its response. Times are in milliseconds. */
export interface RecordedCall extends Pick<AwsCall, 'service' | 'operation' | 'input'> {
  readonly response: AwsResponse;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Groups calls into rounds: a call is in a later round than every call that had ended when it started. */
export function roundsOf(calls: readonly RecordedCall[]): RecordedCall[][] {
  const rounds: RecordedCall[][] = [];
  const roundOf = new Map<RecordedCall, number>();
  for (const call of calls.toSorted((a, b) => a.startedAt - b.startedAt)) {
    const earlier = [...roundOf].filter(([{ endedAt }]) => endedAt < call.startedAt);
    const round = Math.max(-1, ...earlier.map(([, number]) => number)) + 1;
    roundOf.set(call, round);
    rounds[round] = [...(rounds[round] ?? []), call];
  }
  return rounds;
}
