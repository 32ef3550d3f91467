/**
 * The environment of the tests without the regions, endpoints and credentials of the shell that
 * runs them.
 */
export const environmentWithoutAws = (): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('AWS_')));
