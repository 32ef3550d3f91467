import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { AuditEntry } from '../../console/api/generated/types.gen.ts';
import { actionOf, changesCell, changeText } from '../../console/audit.ts';
import { en } from '../../console/languages/en.ts';
import { DICTIONARIES, dateTime, day, LANGUAGES, languageOf, plural } from '../../console/text.ts';
import { EDITABLE_INTEGRATION_FIELDS } from '../../lib/integrations/integration.ts';
import { AUDITED_USER_FIELDS } from '../../lib/users/user.ts';

const ROOT = join(import.meta.dirname, '../../console');

const sources = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !file.startsWith('languages'))
  .map((file) => readFileSync(join(ROOT, file), 'utf8'))
  .join('\n');

function texts(dictionary: object, path = ''): [string, string][] {
  return Object.entries(dictionary).flatMap(([key, value]) =>
    typeof value === 'string'
      ? [[path + key, value] as [string, string]]
      : texts(value, `${path + key}/`),
  );
}

it('every text of the dictionary is used', () => {
  const unused = Object.keys(en).filter(
    (key) => !new RegExp(`(\\bt|texts\\(\\))\\.${key}\\b`).test(sources),
  );

  expect(unused).toEqual([]);
});

it('every message of the service has a text', () => {
  const document = readFileSync(join(ROOT, '../openapi.json'), 'utf8');
  const messages = new Set(document.match(/(?<=")error\.[a-z0-9.]+(?=")/g));

  expect(messages.size).toBeGreaterThan(20);
  expect([...messages].filter((message) => !Object.hasOwn(en.errors, message))).toEqual([]);
});

it('every file with the texts of a language is used', () => {
  const files = readdirSync(join(ROOT, 'languages')).map((file) => file.replace('.ts', ''));

  expect(files.sort()).toEqual([...LANGUAGES].sort());
});

it.each(LANGUAGES.filter((language) => language !== 'en'))(
  '%s has the same keys, other texts, and the same places to fill',
  async (language) => {
    const translated = new Map(texts(await DICTIONARIES[language]()));
    const places = (text = ''): string[] => [...text.matchAll(/\{\w+\}/g)].map(String).sort();

    expect([...translated.keys()]).toEqual(texts(en).map(([key]) => key));
    expect(
      texts(en).filter(([key, text]) => places(text).join() !== places(translated.get(key)).join()),
    ).toEqual([]);
    expect(
      texts(en).filter(([key, text]) => text.length > 25 && translated.get(key) === text),
    ).toEqual([]);
  },
);

it.each(LANGUAGES)('the mails in %s quote the link for a new password', async (language) => {
  const mails = readFileSync(join(ROOT, `../lib/mail/texts/${language}.json`), 'utf8');
  const { forgotten } = await DICTIONARIES[language]();

  expect(mails).toContain(forgotten);
});

it.each([
  [['de-AT'], 'de'],
  [['fr', 'de'], 'de'],
  [['es-419', 'en'], 'es'],
  [['EN_us'], 'en'],
  [['fr'], 'en'],
  [[], 'en'],
])('of %j it chooses %s', (wanted, language) => {
  expect(languageOf(wanted)).toBe(language);
});

it.each([
  ['en', 1, '1 integration'],
  ['de', 12_345, '12.345 Integrationen'],
  ['es', 12_345, '12.345 integraciones'],
] as const)('counts in the way of the language %s', async (language, count, text) => {
  const { integrationsFound } = await DICTIONARIES[language]();

  expect(plural(language, integrationsFound, count)).toBe(text);
});

it('writes days and times in the way of the language', () => {
  expect(day('de', '2027-01-15')).toBe('15. Januar 2027');
  expect(dateTime('en', new Date(2027, 0, 15, 13, 45).toISOString())).toContain('Jan 15, 2027');
});

it('tells what was done to what, also what a later version does', () => {
  const entry = {
    actor: 'admin',
    action: 'parameter.updated',
    target: 'parameter/1000001',
    targetName: 'host',
  } as AuditEntry;

  expect(actionOf(entry, en)).toBe('admin changed the parameter host');
  expect(actionOf({ ...entry, action: 'later.action' as never }, en)).toBe(
    'admin: later.action host',
  );
});

it.each([
  [
    { field: 'authorities', added: ['ROLE_ADMIN'] },
    'Roles: + Administrator',
    'authorities: + ROLE_ADMIN',
  ],
  [
    { field: 'authorities', added: ['ROLE_USER'], removed: ['ROLE_ADMIN'] },
    'Roles: + User, − Administrator',
    'authorities: + ROLE_USER, − ROLE_ADMIN',
  ],
  [{ field: 'activated', from: true, to: false }, 'State: deactivated', 'activated: true → false'],
  [{ field: 'active', from: false, to: true }, 'State: active', 'active: false → true'],
  [{ field: 'secret', to: true }, 'Secret: on', 'secret: true'],
  [{ field: 'login', from: 'bob', to: 'rob' }, 'Login: bob → rob', 'login: bob → rob'],
  [{ field: 'lastName', from: 'B' }, 'Last name: B → –', 'lastName: B → –'],
  [{ field: 'confValue' }, 'Value: changed', 'confValue: *'],
  [{ field: 'running', from: 1, to: 0 }, 'Running: 1 → 0', 'running: 1 → 0'],
  [{ field: 'laterField', to: 'x' }, 'laterField: x', 'laterField: x'],
])('tells a change in words and in a cell: %j', (change, words, cell) => {
  expect(changeText(change, en)).toBe(words);
  expect(changesCell([change])).toBe(cell);
});

it.each([
  ...AUDITED_USER_FIELDS,
  ...EDITABLE_INTEGRATION_FIELDS,
  'leftOut',
  'confDescription',
  'tokens',
  'scopes',
])('a change of %s is told in words', (field) => {
  const told = changeText({ field, to: 'x' }, en);
  expect(told, 'Add it to fieldNames in console/languages').toMatch(/^[A-Z][\w -]+: x$/);
});
