import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { routes } from '../../routes.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';
import { SCENARIOS } from './catalogue.ts';
import { deterministic } from './determinism.ts';

/* docs/interleavings.md; -u updates it. */

const DOCUMENT = '../../docs/interleavings.md';
/** They write what nothing decides on: a key, whose mailing is in the catalogue, and counts. */
const LEFT_OUT = ['request-reset', 'count-overview'];

it('the document shows which handlers run at the same time, of all that write', async () => {
  const pairs = new Set<string>();
  await deterministic(async () => {
    for (const scenariosOf of Object.values(SCENARIOS))
      for (const { requests } of scenariosOf())
        for (const [position, one] of requests.entries())
          for (const other of requests.slice(position + 1)) {
            pairs.add(`${one.handler} ${other.handler}`);
            pairs.add(`${other.handler} ${one.handler}`);
          }
  });
  const names = [...new Set([...pairs].map((pair) => pair.split(' ')[0] as string))].sort();
  const rows = names.map((name, row) => {
    const cells = names
      .slice(0, row + 1)
      .map((other) => (pairs.has(`${name} ${other}`) ? 'x' : '.'));
    return `${name.padEnd(24)} ${cells.join('')}`;
  });
  const document = await readFile(new URL(DOCUMENT, import.meta.url), 'utf8');

  await expect(
    withGenerated(document, { pairs: ['```text', ...rows, '```'].join('\n') }),
  ).toMatchFileSnapshot(DOCUMENT);
  const writing = routes.filter(({ permissions: { put, update, delete: deleted } }) =>
    Boolean(put ?? update ?? deleted),
  );
  expect(writing.map(({ handler }) => handler).filter((name) => !names.includes(name))).toEqual(
    LEFT_OUT,
  );
});
