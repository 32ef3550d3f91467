import * as v from 'valibot';
import defaultTemplates from './mail-templates.json' with { type: 'json' };
import { count, matching, setting } from './setting.ts';

/* How mails are sent, and their texts. */

const mailWith = (text: v.GenericSchema<string>) => {
  const subject = setting('The subject of the mail; it may contain `{login}`.', v.string());
  return (meaning: string) => setting(meaning, v.strictObject({ subject, text }));
};
const mailWithLink = mailWith(
  setting(
    'The text of the mail; `{link}` becomes the link and `{login}` the login.',
    v.pipe(v.string(), v.includes('{link}')),
  ),
);
const notice = mailWith(
  setting(
    'The text of the mail; `{login}` becomes the login. It asks for no action, so it has no link.',
    v.pipe(v.string(), v.excludes('{link}')),
  ),
);

const confirmation = mailWith(
  setting(
    'The text of the mail; `{email}` becomes the new address, `{link}` the link that confirms it ' +
      'and `{login}` the login.',
    v.pipe(v.string(), v.includes('{link}'), v.includes('{email}')),
  ),
);

const language = setting(
  'The texts in one language.',
  v.strictObject({
    reset: mailWithLink('Sent to a user who has forgotten the password.'),
    invitation: mailWithLink('Sent to a user who was created without a password.'),
    emailConfirmation: v.optional(
      confirmation(
        'Sent to the present address when the user requests another one, if ' +
          '`confirmEmailChanges` is set. There is a default text.',
      ),
    ),
    passwordChanged: notice('Sent after every change of a password.'),
    emailChanged: notice('Sent to the former address after a change of the address.'),
    secondFactorChanged: v.optional(
      notice('Sent after a change of the second factor. There is a default text.'),
    ),
    codeRejected: v.optional(
      notice(
        'Sent, at most once a day, after the right password with a wrong code of the second ' +
          'factor. There is a default text.',
      ),
    ),
  }),
);

const templates = setting(
  'The texts of all mails by language; English is the fallback for all other languages.',
  v.pipe(
    v.record(v.string(), language),
    v.check((languages) => Object.hasOwn(languages, 'en'), 'must contain English (en)'),
  ),
);

/**
 * Lambda accepts 4,096 bytes for the environment of a function, and measures its JSON text. The
 * other variables of the function that sends mail need up to 650.
 */
const MAIL_BYTES_MAX = 3450;

/** Whether the settings of mail, with the pages that links lead to, fit into the environment. */
export const mailFits = (mail: object): boolean =>
  // In the environment, the texts are JSON within JSON.
  Buffer.byteLength(JSON.stringify(JSON.stringify(mail))) <= MAIL_BYTES_MAX;

export const mail = setting(
  'How mails are sent; [Mail](deploying.md#mail) explains the conditions in AWS. All texts and ' +
    'the other settings of mail together, with the pages that links lead to, must not exceed ' +
    '3,450 bytes as JSON in a string.',
  v.strictObject({
    sender: setting(
      'The sender of all mails. SES must have verified the address itself or its domain.',
      v.pipe(v.string(), v.email()),
    ),
    configurationSet: v.optional(
      setting(
        'The SES configuration set to send with; required if the identity of the sender ' +
          'has a default configuration set.',
        matching(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, hyphens or underscores'),
        { example: 'gatehouse-events' },
      ),
    ),
    linkBase: v.optional(
      setting(
        'The URL of the page that sets a password; the reset key is appended to it. Without it, ' +
          'the page is in the console.',
        v.pipe(v.string(), v.url()),
        { example: 'https://admin.example.com/account/reset/finish?key=' },
      ),
    ),
    confirmLinkBase: v.optional(
      setting(
        'The URL of the page that confirms a new address; the key is appended to it. Without ' +
          'it, the page is in the console.',
        v.pipe(v.string(), v.url()),
        { example: 'https://admin.example.com/account/confirm-email?key=' },
      ),
    ),
    resetsPerHour: v.optional(
      count(
        'mails',
        'The maximum number of reset mails to all users together. Further requests in that ' +
          'hour get no mail, so that they cannot use up what the account may send. Half is kept ' +
          'for sources that have caused fewer than five.',
      ),
      500,
    ),
    templates: v.optional(templates, defaultTemplates),
  }),
);
