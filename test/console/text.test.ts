import { expect, it } from 'vitest';
import { type Outcome, type Result, runAll } from '../../console/bulk.ts';
import { isSameName } from '../../console/form.ts';
import { boundOf, dayOf, fill, relativeTime } from '../../console/text.ts';

it.each([
  ['Firewall', 'Firewall', true],
  ['Firewall', 'Firewall ', true],
  ['Firewall', '\nFirewall', true],
  ['a b', 'a\nb', true],
  ['ab', 'a\nb', true],
  ['firewall', 'Firewall', false],
  ['', 'Firewall', false],
])('%j is typed for the name %j: %s', (typed, name, expected) => {
  expect(isSameName(typed, name)).toBe(expected);
});

it.each(['2026-03-08', '2026-10-25', '2026-12-31', '2028-02-29'])(
  'the day %s has bounds that show the same day, and lasts until the next begins',
  (day) => {
    const [from, until] = [boundOf(day, 'from'), boundOf(day, 'until')];

    expect([dayOf(from, 'from'), dayOf(until, 'until')]).toEqual([day, day]);
    expect(dayOf(until, 'from') > day).toBe(true);
    expect((Date.parse(until) - Date.parse(from)) / 3_600_000).toSatisfy(
      (hours: number) => hours >= 23 && hours <= 25,
    );
  },
);

it('shows a bound that is no instant as it is', () => {
  expect(dayOf('yesterday', 'from')).toBe('yesterday');
});

const NOW = Date.parse('2026-11-28T12:00:00Z');
it.each([
  ['2026-11-28T12:00:00Z', 'now', 'jetzt'],
  ['2026-11-28T11:59:01Z', 'now', 'jetzt'],
  ['2026-11-28T11:58:01Z', '1 min. ago', 'vor 1 Min.'],
  ['2026-11-28T14:30:00Z', 'in 2 hr.', 'in 2 Std.'],
  ['2026-11-26T13:00:00Z', '1 day ago', 'vor 1 Tag'],
  ['2026-11-30T11:00:00Z', 'in 1 day', 'in 1 Tag'],
  ['2026-08-20T12:00:00Z', '3 mo. ago', 'vor 3\u00a0Monaten'],
  ['2024-11-01T12:00:00Z', '2 yr. ago', 'vor 2 Jahren'],
])('%s is %s', (instant, english, german) => {
  expect(['en', 'de'].map((language) => relativeTime(language, instant, NOW))).toEqual([
    english,
    german,
  ]);
});

it.each([
  ['Müller', 'Delete Müller'],
  ['אבג', 'Delete \u2068אבג\u2069'],
  ['مريم', 'Delete \u2068مريم\u2069'],
  ['a\u202eb', 'Delete \u2068ab\u2069'],
  [undefined, 'Delete '],
])('fills in the name %j so that it does not turn its sentence round', (name, text) => {
  expect(fill('Delete {name}', { name })).toBe(text);
});

it.each([
  ['does so', 'done'],
  ['is stopped', 'stopped'],
])('an action waits as long as a limit says, and then %s', async (_, result) => {
  const retryAfterSeconds = 300;
  const problem = { status: 429, message: 'error.http.429', fieldErrors: [], retryAfterSeconds };
  const answers: Outcome[] = [{ ok: false, problem }, { ok: true }];
  const controller = new AbortController();
  const results: Result[] = [];
  const waited: number[] = [];

  await runAll({
    items: [1],
    act: async () => answers.shift() as Outcome,
    onResult: (_item, each) => results.push(each),
    signal: controller.signal,
    async wait(seconds) {
      waited.push(seconds);
      if (result !== 'stopped') return;
      controller.abort();
      // The stop does not wait for the end of the limit.
      await new Promise(() => undefined);
    },
  });

  expect([results, waited]).toEqual([['running', result], [300]]);
});

it('an action does not wait for a limit that ends later than in five minutes', async () => {
  const retryAfterSeconds = 301;
  const problem = { status: 429, message: 'error.http.429', fieldErrors: [], retryAfterSeconds };
  const results: Result[] = [];

  await runAll({
    items: [1],
    act: async () => ({ ok: false, problem }),
    onResult: (_item, each) => results.push(each),
    wait: () => Promise.reject(new Error('It waits')),
  });

  expect(results).toEqual(['running', problem]);
});
