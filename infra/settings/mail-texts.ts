import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import * as v from 'valibot';
import type { Texts } from '../../lib/mail/mail.ts';
import type { Occasion } from '../../lib/mail/outbox.ts';
import { ROOT, readJson } from './environment-files.ts';
import { parse } from './setting.ts';

/* The texts of mails: a file for each language. */

const SHIPPED_FOLDER = 'lib/mail/texts';

const mailWith = (text: v.GenericSchema<string>) =>
  v.optional(v.strictObject({ subject: v.string(), text }));
const withLink = mailWith(v.pipe(v.string(), v.includes('{link}')));
/** It asks for no action. */
const notice = mailWith(v.pipe(v.string(), v.excludes('{link}')));

const texts = v.strictObject({
  reset: withLink,
  invitation: withLink,
  // The address lets its reader notice a typing error.
  emailConfirmation: mailWith(v.pipe(v.string(), v.includes('{link}'), v.includes('{email}'))),
  passwordChanged: notice,
  emailChanged: notice,
  secondFactorChanged: notice,
  codeRejected: notice,
  tokenCreated: notice,
  identityChanged: notice,
  rolesKept: notice,
  emergencyArmed: notice,
  emergencyUsed: notice,
  deactivationRefused: notice,
} satisfies Record<Occasion, unknown>);

/**
 * The texts of all mails by language. The files in the operator's folder, if there are any, name
 * the languages. A text that a language lacks is the shipped one, or else in the default language.
 * Throws a sentence that lists the mistakes in a file.
 */
export function readMailTexts(byDefault: string, folder: string): Record<string, Texts> {
  const shipped = readFolder(SHIPPED_FOLDER);
  const own = readFolder(folder);
  const [languages, from] = Object.keys(own).length > 0 ? [own, folder] : [shipped, SHIPPED_FOLDER];
  if (!Object.hasOwn(languages, byDefault))
    throw new Error(`mail.language is ${byDefault}, but there is no ${from}/${byDefault}.json.`);
  // The shipped English has all texts.
  const defaults = { ...shipped.en, ...shipped[byDefault], ...own[byDefault] } as Texts;
  const tags = Object.keys(languages);
  return Object.fromEntries(
    tags.map((tag) => [tag, { ...defaults, ...shipped[tag], ...own[tag] }]),
  );
}

const readFolder = (folder: string): Record<string, Partial<Texts>> =>
  Object.fromEntries(
    globSync('*.json', { cwd: join(ROOT, folder) })
      .map((name) => [name, `${folder}/${name}`] as const)
      .map(([name, file]) => [
        basename(name, '.json'),
        parse('text', file, texts, readJson(file)) as Partial<Texts>,
      ]),
  );
