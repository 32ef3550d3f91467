import * as v from 'valibot';

export const positiveInteger = v.pipe(v.number(), v.integer(), v.minValue(1));

/** A whole number of something. */
export const count = (unit: string, description: string) =>
  v.pipe(positiveInteger, v.description(description), v.metadata({ unit }));
