import { PLACEHOLDERS } from './examples.ts';

/** Values for placeholders, by their names. */
export type ExampleValues = Partial<Record<keyof typeof PLACEHOLDERS, string | number>>;

/** A part of an example with these values for its placeholders. */
export function fillExample<T>(part: T, values: ExampleValues): T {
  const names = new Map<unknown, keyof typeof PLACEHOLDERS>(
    Object.entries(PLACEHOLDERS).map(([name, placeholder]) => [placeholder, name as never]),
  );
  const fill = (_: string, value: unknown) => {
    const name = names.get(value);
    return (name && values[name]) ?? value;
  };
  return part === undefined ? part : JSON.parse(JSON.stringify(part), fill);
}
