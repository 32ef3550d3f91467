/** What is missing. A warning leaves the environment ready. */
export type Missing = readonly [problem: string, remedy: string, severity?: 'warning'] | undefined;

/** A response, or undefined if what was asked for does not exist. */
export async function ifFound<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    const { name, message } = error as Error;
    // CloudFormation has no error of its own for a stack that does not exist.
    const noStack = name === 'ValidationError' && / does not exist$/.test(message);
    if (noStack || /NotFound(Exception)?$/.test(name)) return undefined;
    throw error;
  }
}
