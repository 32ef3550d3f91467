import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { expect, it } from 'vitest';
import { CRITERIA } from '../support/browser/wcag.ts';

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

it('docs/accessibility.md is current; -u updates it', async () => {
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

  await expect(`${HEAD}${rows.join('\n')}\n`).toMatchFileSnapshot('../../docs/accessibility.md');
});

const HEAD = `# Accessibility

This is the accessibility conformance report of [the console](console.md), by the criteria of
[WCAG 2.2](https://www.w3.org/TR/WCAG22/), levels A and AA. It is generated from the tests that are its evidence.

- **What was tested**: every screen, with refused forms, dialogs and messages, in the light and the dark theme, in both
  languages, 1280 and 320 pixels wide. \`npm run test:browser\` repeats it with Chromium and
  [axe](https://github.com/dequelabs/axe-core), which has no finding.
- **What was not tested**: other browsers, and no person has used it with a screen reader. What a screen reader finds is
  recorded for every screen in \`test/console/browser/trees\`.
- **What is not part of it**: the local API reference at \`/docs\`, which no environment has.

A criterion of WCAG 2.2 that is not in the table is of level AAA. 4.1.1 is obsolete.

| criterion | level | conformance | evidence and remarks |
|---|---|---|---|
`;
