/**
 * Whether to run the tests that take minutes (`LONG=1 npm test`): most interleavings, faults of
 * every route, long lists, mutants.
 */
export const LONG = process.env.LONG === '1';
