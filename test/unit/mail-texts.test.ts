import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { ROOT } from '../../infra/settings/environment-files.ts';
import { readMailTexts } from '../../infra/settings/mail-texts.ts';
import { OCCASIONS } from '../../lib/mail/outbox.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function folderWith(files: Record<string, unknown>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-texts-'));
  folders.push(folder);
  for (const [tag, texts] of Object.entries(files))
    writeFileSync(join(folder, `${tag}.json`), JSON.stringify(texts));
  return relative(ROOT, folder);
}

const shipped = readMailTexts('en', folderWith({}));
const reset = { subject: 'Own', text: 'Own {link}' };
const textOf = (texts: typeof shipped, tag: string, occasion: (typeof OCCASIONS)[number]) =>
  texts[tag]?.[occasion].text;

it('the shipped texts are complete in each language', () => {
  expect(Object.keys(shipped)).toEqual(['de', 'en', 'es']);
  for (const [tag, greeting] of [
    ['en', 'Dear {name},'],
    ['de', 'Guten Tag {name},'],
    ['es', 'Hola, {name}:'],
  ] as const)
    for (const occasion of OCCASIONS) {
      const name = occasion === 'invitation' ? '{firstName}' : '{login}';
      const text = textOf(shipped, tag, occasion);
      expect(text, `${tag} ${occasion}`).toContain(`${greeting.replace('{name}', name)}\n`);
    }
});

it('the files of an operator are the languages, and a text that they lack is shipped', () => {
  const texts = readMailTexts('en', folderWith({ en: { reset }, de: {} }));

  expect(texts).toEqual({ en: { ...shipped.en, reset }, de: shipped.de });
  expect(Object.keys(readMailTexts('de', folderWith({ de: {} })))).toEqual(['de']);
});

it('a text that is not shipped in a language is in the default language', () => {
  const invitation = { subject: 'Bienvenue', text: 'Bonjour {login}: {link}' };
  const texts = readMailTexts('de', folderWith({ de: { reset }, fr: { invitation } }));

  expect(texts.fr).toEqual({ ...shipped.de, reset, invitation });
  expect(readMailTexts('fr', folderWith({ fr: { invitation } })).fr).toEqual({
    ...shipped.en,
    invitation,
  });
});

it('the default language needs a file', () => {
  const folder = folderWith({ de: {} });

  expect(() => readMailTexts('en', folder)).toThrow(
    `mail.language is en, but there is no ${folder}/en.json.`,
  );
  expect(() => readMailTexts('fr', folderWith({}))).toThrow(
    'mail.language is fr, but there is no lib/mail/texts/fr.json.',
  );
});

it.each<[string, object, string]>([
  ['is unknown', { welcome: reset }, 'welcome: unknown text'],
  ['has no subject', { reset: { text: '{link}' } }, 'reset.subject: missing'],
  ...['reset', 'invitation', 'emailConfirmation'].map((name): [string, object, string] => [
    `of ${name} has no link`,
    { [name]: { subject: '', text: '{email}' } },
    `${name}.text: Invalid content: Expected "{link}" but received !"{link}"`,
  ]),
  [
    'has no address to confirm',
    { emailConfirmation: { subject: '', text: '{link}' } },
    'emailConfirmation.text: Invalid content: Expected "{email}" but received !"{email}"',
  ],
  ...[
    'passwordChanged',
    'emailChanged',
    'secondFactorChanged',
    'codeRejected',
    'emergencyUsed',
  ].map((name): [string, object, string] => [
    `of ${name} has a link`,
    { [name]: { subject: '', text: '{link}' } },
    `${name}.text: Invalid content: Expected !"{link}" but received "{link}"`,
  ]),
])('a text that %s is rejected', (_, texts, violation) => {
  const folder = folderWith({ en: texts });

  expect(() => readMailTexts('en', folder)).toThrow(
    `The texts in ${folder}/en.json are invalid. ${violation}.`,
  );
});
