/**
 * Waits for all of these, also when one fails: Lambda freezes what goes on after the answer, and thaws it inside of the
 * next request. Then fails as the first of them in order that failed, whichever was the quickest.
 */
export async function settleAll<T extends readonly unknown[]>(
  work: readonly [...{ [K in keyof T]: Promise<T[K]> }],
): Promise<T> {
  const outcomes = await Promise.allSettled(work);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return outcomes.map((outcome) => (outcome as PromiseFulfilledResult<unknown>).value) as unknown as T;
}
