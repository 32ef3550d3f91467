/**
 * Takes a while without a clock, as a call to AWS does: what is not waited for is not over when the answer is given, and
 * Lambda freezes it then. So a test that looks at what was done notices an `await` that is missing.
 */
export async function aWhile(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await undefined;
}
