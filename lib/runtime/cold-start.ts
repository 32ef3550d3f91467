import { RESERVE } from './aws.ts';
import { setDeadline } from './deadline.ts';

/** How long a cold start waits for AWS; milliseconds. */
const LONGEST = 2000;

/** Ends the calls of a cold start early: what does not answer must not use up the time of the first request, which repeats them. */
export const limitColdStart = (): void => setDeadline(LONGEST + RESERVE);

const started: Promise<unknown>[] = [];

/** Starts work in the cold start, so that no request has to wait for it later. When it fails, whoever needs it tries again. */
export function startInColdStart(work: () => Promise<unknown>): void {
  limitColdStart();
  started.push(work().catch(() => undefined));
}

/** Waits for that work: Lambda would freeze what goes on after the answer to the first request. */
export async function coldStartEnded(): Promise<void> {
  await Promise.all(started);
}
