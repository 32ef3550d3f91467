import type { RecordedCall } from './recording.ts';

/** The calls of the first and of the second invocation of a function. */
export type Replayed = readonly [first: readonly RecordedCall[], second: readonly RecordedCall[]];

/** The status and the text of a recorded response. */
interface Reply {
  readonly status: number;
  readonly body: string;
}

/** A call to replay. */
interface Candidate extends Reply {
  readonly operation: string;
  readonly input: string;
  readonly isRepeated: boolean;
  used: boolean;
}

/** JSON in which the order of fields does not matter. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

/**
 * Responds to the calls of one instance of a function with the recorded response to an equal call,
 * otherwise to the next one with the same operation, because times, random values and signatures
 * differ. An instance that is called more often repeats its second invocation.
 */
export function openReplies([first, second]: Replayed): (
  operation: string,
  input: string,
) => Reply | undefined {
  const candidates = (calls: readonly RecordedCall[], isRepeated: boolean): Candidate[] =>
    calls.map(({ operation, input, response: { status, body } }) => ({
      operation,
      input: canonical(input),
      isRepeated,
      status,
      used: false,
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }));
  const all = [...candidates(first, false), ...candidates(second, true)];
  const unused = (some: readonly Candidate[]) => some.find(({ used }) => !used);
  return (operation, input) => {
    const same = all.filter((candidate) => candidate.operation === operation);
    const wanted = canonical(JSON.parse(input));
    const equal = same.filter((candidate) => candidate.input === wanted);
    if (equal.length === 0 && !unused(same))
      for (const candidate of same) candidate.used = !candidate.isRepeated;
    const reply = unused(equal) ?? equal.at(-1) ?? unused(same) ?? same.at(-1);
    if (reply) reply.used = true;
    return reply;
  };
}
