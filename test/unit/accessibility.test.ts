import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { expect, it } from 'vitest';
import { CRITERIA } from '../support/browser/wcag.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';

const DOCUMENT = join(import.meta.dirname, '../../docs/console.md');
const CONSOLE = join(import.meta.dirname, '../console');
const TESTS = readdirSync(CONSOLE, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => ({ file, text: readFileSync(join(CONSOLE, file), 'utf8') }));

/** How many rules of axe test a criterion, whose tag is `wcag1410` for 1.4.10. */
const rulesOf = (criterion: string): number =>
  axe.getRules([`wcag${criterion.replaceAll('.', '')}`]).length;

const sorted = Object.entries(CRITERIA).sort(([one], [other]) =>
  one.localeCompare(other, 'en', { numeric: true }),
);

it('every criterion has evidence that exists', () => {
  const titles = [...new Set(sorted.flatMap(([, { tests = [] }]) => tests))];
  const missing = titles.filter((title) => !TESTS.some(({ text }) => text.includes(`'${title}`)));
  const unproved = sorted.filter(
    ([number, { tests, remark, absent }]) => !(tests || remark || absent || rulesOf(number) > 0),
  );

  expect(sorted).toHaveLength(55);
  expect(missing).toEqual([]);
  expect(unproved).toEqual([]);
});

it('the conformance report in docs/console.md is current; -u updates it', async () => {
  const rows = sorted.map(([number, { name, level, tests, remark, absent }]) => {
    const rules = rulesOf(number);
    const evidence = [
      ...(rules > 0 ? [`axe, ${rules} rule${rules > 1 ? 's' : ''}`] : []),
      ...(tests ?? []).map((title) => {
        const { file } = TESTS.find(({ text }) => text.includes(`'${title}`)) as { file: string };
        return `[${title}](../test/console/${file})`;
      }),
      ...(remark ? [remark] : []),
      ...(absent ? [absent] : []),
    ];
    const conformance = absent ? 'does not apply' : 'supports';
    return `| ${number} ${name} | ${level} | ${conformance} | ${evidence.join('; ')} |`;
  });

  const head = ['| criterion | level | conformance | evidence and remarks |', '|---|---|---|---|'];
  const document = withGenerated(readFileSync(DOCUMENT, 'utf8'), {
    criteria: [...head, ...rows].join('\n'),
  });
  await expect(document).toMatchFileSnapshot(DOCUMENT);
});
