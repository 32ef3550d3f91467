import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openApiText } from '../../infra/openapi/document.ts';
import { EXAMPLES } from '../../infra/openapi/examples.ts';
import { routes } from '../../routes.ts';

it('openapi.json is current: otherwise run npm run openapi', () => {
  expect(readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8')).toBe(openApiText(routes));
});

it('every route has an example', () => {
  expect(Object.keys(EXAMPLES).toSorted()).toEqual(routes.map(({ route }) => route).toSorted());
});
