/** A setting that the stack gives to the function; a missing one ends the start in one sentence. */
export function requireEnv(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`The setting ${name} is missing from the environment`);
  return value;
}
