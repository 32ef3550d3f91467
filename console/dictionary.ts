import type { Dictionary } from './languages/en.ts';
import { SHAPE, type Shape } from './languages/shape.ts';

/** A dictionary by its texts alone: the build leaves their names out of each language. */
export function named(texts: object, shape = SHAPE): Dictionary {
  let next = 0;
  const fill = (names: Shape): object =>
    Object.fromEntries(
      names.map((name) =>
        typeof name === 'string'
          ? [name, (texts as readonly string[])[next++]]
          : [name[0], fill(name[1])],
      ),
    );
  return fill(shape) as Dictionary;
}
