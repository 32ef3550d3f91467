/* Two changes of one entity, field by field: what was read, theirs, and what is to be saved. */

type Fields = Readonly<Record<string, unknown>>;

export interface Difference {
  readonly field: string;
  readonly base: unknown;
  readonly mine: unknown;
  readonly theirs: unknown;
  /** What is kept unless somebody chooses: a field that only one side has changed is theirs. */
  readonly keep: 'mine' | 'theirs';
}

export function differences(
  fields: readonly string[],
  base: object,
  mine: object,
  theirs: object,
): Difference[] {
  const [before, own, others] = [base as Fields, mine as Fields, theirs as Fields];
  return fields
    .filter((field) => !same(own[field], others[field]))
    .map((field) => ({
      field,
      base: before[field],
      mine: own[field],
      theirs: others[field],
      keep: same(own[field], before[field]) ? 'theirs' : 'mine',
    }));
}

/** Mine, with their value where it was chosen. */
export function merged<T extends Fields>(
  mine: T,
  found: readonly Difference[],
  choices: Readonly<Record<string, 'mine' | 'theirs'>>,
): T {
  const theirs = found
    .filter(({ field, keep }) => (choices[field] ?? keep) === 'theirs')
    .map(({ field, theirs }) => [field, theirs]);
  return { ...mine, ...Object.fromEntries(theirs) };
}

/** Absent, empty and false are the same, and the order of roles means nothing. */
export function same(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return JSON.stringify(a.toSorted()) === JSON.stringify(b.toSorted());
  return (a || '') === (b || '');
}

/** The fields that are not as they are stored: a stored value need not be one that is accepted. */
export const changesOf = <T extends object>(stored: object, fields: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(fields).filter(([field, value]) => !same((stored as Fields)[field], value)),
  ) as Partial<T>;

export const sameFields = (fields: readonly string[], one: object, other: object): boolean =>
  fields.every((field) => same((one as Fields)[field], (other as Fields)[field]));
