import { PATIENT_SETTINGS } from '../../lib/table/table-scanner.ts';

/** The settings of clients for a region, with the operator's credentials. */
export const inRegion = (region: string) => ({ ...PATIENT_SETTINGS, region });

/** A response, or undefined if what was asked for does not exist. */
export async function ifFound<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    const { name, message } = error as Error;
    // CloudFormation has no error of its own for a stack that does not exist.
    const noStack = name === 'ValidationError' && / does not exist\b/.test(message);
    if (noStack || /NotFound(Exception)?$/.test(name)) return undefined;
    throw error;
  }
}
