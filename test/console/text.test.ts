import { describe, expect, it } from 'vitest';
import type { Answer } from '../../console/api/request.ts';
import { type Result, runAll } from '../../console/bulk.ts';
import { editedFields, isSameName, keepingUnedited } from '../../console/form.ts';
import { boundOf, dayOf, fill, relativeTime } from '../../console/text.ts';

const dataOf = (...entries: [string, string][]): FormData => {
  const data = new FormData();
  for (const entry of entries) data.append(...entry);
  return data;
};

it.each([
  ['nothing', [['a', '1']], [['a', '1']], []],
  [
    'a value',
    [
      ['a', '1'],
      ['b', '2'],
    ],
    [
      ['a', '1'],
      ['b', '3'],
    ],
    ['b'],
  ],
  ['a box that was checked', [], [['role', 'x']], ['role']],
  [
    'a box that was unchecked',
    [
      ['role', 'x'],
      ['role', 'y'],
    ],
    [['role', 'y']],
    ['role'],
  ],
] as [string, [string, string][], [string, string][], string[]][])(
  'the edited fields name %s',
  (_, initial, current, names) => {
    expect([...editedFields(dataOf(...initial), dataOf(...current))]).toEqual(names);
  },
);

it('keeps what is stored of the fields that nobody has edited, and sends no other', () => {
  const shown = { firstName: 'Anna Maria', lastName: 'New' };
  const stored = { firstName: 'Anna\nMaria', lastName: 'Old', id: 7 };

  expect(keepingUnedited(shown, stored, new Set(['lastName']))).toEqual({
    firstName: 'Anna\nMaria',
    lastName: 'New',
  });
});

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
  ['2026-11-27T11:00:00Z', 'yesterday', 'gestern'],
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

describe('one action for many', () => {
  const done: Answer<unknown> = {
    ok: true,
    data: undefined,
    total: undefined,
    etag: undefined,
    alert: undefined,
    links: {},
  };
  const refused = (status: number): Answer<unknown> => ({
    ok: false,
    problem: { status, message: `error.http.${status}`, fieldErrors: [], retryAfterSeconds: 9 },
  });

  async function run(answerOf: (item: number, attempt: number) => Answer<unknown>, stopAt = 0) {
    const controller = new AbortController();
    const attempts = new Map<number, number>();
    const results = new Map<number, Result>();
    const waited: number[] = [];
    let [running, most] = [0, 0];
    await runAll({
      items: [1, 2, 3, 4, 5, 6],
      act: async (item) => {
        running += 1;
        most = Math.max(most, running);
        if (item === stopAt) controller.abort();
        await Promise.resolve();
        running -= 1;
        const attempt = (attempts.get(item) ?? 0) + 1;
        attempts.set(item, attempt);
        return answerOf(item, attempt);
      },
      onResult: (item, result) => results.set(item, result),
      signal: controller.signal,
      wait: async (seconds) => void waited.push(seconds),
    });
    return { results: [...results.values()], waited, most };
  }

  it('runs four at a time, and goes on after a refusal', async () => {
    const { results, most } = await run((item) => (item === 2 ? refused(400) : done));

    expect(most).toBe(4);
    expect(results).toEqual([
      'done',
      expect.objectContaining({ status: 400 }),
      ...Array(4).fill('done'),
    ]);
  });

  it('waits as long as the service says when a limit is reached', async () => {
    const { results, waited } = await run((item, attempt) =>
      item === 3 && attempt === 1 ? refused(429) : done,
    );

    expect([results, waited]).toEqual([Array(6).fill('done'), [9]]);
  });

  it('ends what is under way after a stop, and begins nothing more', async () => {
    const { results } = await run(() => done, 4);
    const waiting = await run((item) => (item === 3 ? refused(429) : done), 4);

    expect(results).toEqual([...Array(4).fill('done'), 'stopped', 'stopped']);
    expect(waiting.results[2]).toBe('stopped');
  });
});
