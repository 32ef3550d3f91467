import * as v from 'valibot';
import { count } from './numbers.ts';

/* How mails are sent, and their texts. */

const subject = v.pipe(
  v.string(),
  v.description('The subject of the mail; it may contain `{login}`.'),
);
const template = v.strictObject({
  subject,
  text: v.pipe(
    v.string(),
    v.includes('{link}'),
    v.description('The text of the mail; `{link}` becomes the link and `{login}` the login.'),
  ),
});
const notice = v.strictObject({
  subject,
  text: v.pipe(
    v.string(),
    v.excludes('{link}'),
    v.description(
      'The text of the mail; `{login}` becomes the login. It asks for no action, so it has ' +
        'no link.',
    ),
  ),
});
const language = v.pipe(
  v.strictObject({
    reset: v.pipe(template, v.description('Sent to a user who has forgotten the password.')),
    invitation: v.pipe(
      template,
      v.description('Sent to a user who was created without a password.'),
    ),
    passwordChanged: v.pipe(notice, v.description('Sent after every change of a password.')),
    emailChanged: v.pipe(
      notice,
      v.description('Sent to the former address after a change of the address.'),
    ),
  }),
  v.description('The texts in one language.'),
);

export const templates = v.pipe(
  v.record(v.string(), language),
  v.check((languages) => Object.hasOwn(languages, 'en'), 'must contain English (en)'),
  v.description(
    'The texts of all mails by language; English is the fallback for all other languages.',
  ),
);

/**
 * Lambda accepts 4,096 bytes for the environment of a function, and measures its JSON text. The
 * other variables of the function that sends mail need up to 620.
 */
const MAIL_BYTES_MAX = 3450;

export const mail = v.pipe(
  v.strictObject({
    sender: v.pipe(
      v.string(),
      v.email(),
      v.description(
        'The sender of all mails. SES must have verified the address itself or its domain.',
      ),
    ),
    configurationSet: v.optional(
      v.pipe(
        v.string(),
        v.regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, hyphens or underscores'),
        v.description(
          'The SES configuration set to send with; required if the identity of the sender ' +
            'has a default configuration set.',
        ),
        v.metadata({ example: 'gatehouse-events' }),
      ),
    ),
    linkBase: v.pipe(
      v.string(),
      v.url(),
      v.description('The URL of the page that sets a password; the reset key is appended to it.'),
    ),
    resetsPerHour: v.optional(
      count(
        'mails',
        'The maximum number of reset mails to all users together. Further requests in that ' +
          'hour get no mail, so that they cannot use up what the account may send.',
      ),
      500,
    ),
    templates,
  }),
  v.check(
    // In the environment, the texts are JSON within JSON.
    (mail) => Buffer.byteLength(JSON.stringify(JSON.stringify(mail))) <= MAIL_BYTES_MAX,
    'All texts and the other settings of mail together must not exceed 3,450 bytes as JSON ' +
      'in a string: they are part of the environment of a function',
  ),
  v.description('How mails are sent; [Mail](mail.md) explains the conditions in AWS.'),
);
