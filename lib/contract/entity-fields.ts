import type { FieldKind } from './list-query.ts';

/** How a field that clients see is used: whether a request can change it, and as what a list sorts and filters by it. */
export interface FieldUse {
  readonly editable?: true;
  readonly filter?: FieldKind;
}
type FieldUses = Readonly<Record<string, FieldUse>>;

/** The fields that a request can change. */
type EditableField<F extends FieldUses> = {
  [K in keyof F]: F[K] extends { readonly editable: true } ? K : never;
}[keyof F];

export function editableFields<const F extends FieldUses>(fields: F): readonly EditableField<F>[] {
  return Object.keys(fields).filter((name) => fields[name]?.editable) as unknown as EditableField<F>[];
}

/** The fields that lists sort and filter by, and their kinds. */
export function filterableFields(fields: FieldUses): Record<string, FieldKind> {
  return Object.fromEntries(Object.entries(fields).flatMap(([name, { filter }]) => (filter ? [[name, filter]] : [])));
}

/** What clients see of an entity: exactly these fields, null where the entity has no value. */
type View<E, F extends FieldUses> = {
  [K in keyof F & keyof E]-?: undefined extends E[K] ? Exclude<E[K], undefined> | null : E[K];
};

export function viewOf<E extends object, const F extends FieldUses>(entity: E, fields: F): View<E, F> {
  const names = Object.keys(fields) as (keyof E)[];
  return Object.fromEntries(names.map((name) => [name, entity[name] ?? null])) as View<E, F>;
}

/** The fields of these names that are present, also those that are undefined: a change that clears a field has it so. */
export function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.filter((name) => name in from).map((name) => [name, from[name]])) as Pick<T, K>;
}
