import { expect, it } from 'vitest';
import { readableError } from '../../infra/local/lambda/readable-error.ts';

it('a bundle that cannot be found is printed without the source of the runtime', () => {
  const error = "Error: Cannot find module '/a/index.mjs' imported from data:text/javascript,import%20%7B%20a%20%7D";

  expect(readableError(`${error}\n    at node:internal/modules`)).toBe("Error: Cannot find module '/a/index.mjs'");
});
