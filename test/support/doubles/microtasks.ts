/**
 * Takes several microtask turns, as a call to AWS takes time: work that is not awaited is
 * unfinished when the function responds, and Lambda then freezes it. A test of the results thus
 * detects a missing `await`.
 */
export async function waitMicrotasks(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await undefined;
}
