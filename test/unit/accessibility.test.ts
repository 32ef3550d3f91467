import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { expect, it } from 'vitest';

const DOCS = join(import.meta.dirname, '../../docs');

/** The criteria of the conformance report, with their evidence and remarks. */
const CRITERIA = readFileSync(join(DOCS, 'console.md'), 'utf8').matchAll(
  /^\| ([\d.]+) .+ \| AA? \| (?:supports|does not apply) \| (.+) \|$/gm,
);

it('the conformance report has evidence that exists for every criterion of WCAG 2.2', () => {
  const criteria = [...CRITERIA];

  expect(criteria).toHaveLength(55);
  for (const [, number = '', evidence = ''] of criteria) {
    const rules = axe.getRules([`wcag${number.replaceAll('.', '')}`]).length;
    expect(/axe, \d+ rules?/.exec(evidence)?.[0], number).toBe(
      rules > 0 ? `axe, ${rules} rule${rules > 1 ? 's' : ''}` : undefined,
    );
    for (const [, title, file = ''] of evidence.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g))
      expect(readFileSync(join(DOCS, file), 'utf8')).toContain(`'${title}`);
  }
});
