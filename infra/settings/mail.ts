import * as v from 'valibot';
import { count, flag, isHttpUrl, matching, setting } from './setting.ts';

/* How mails are sent, and the console, to which their links lead. */

/** The environment of a function, which contains it, may have 4,096 bytes. */
const page = v.pipe(
  v.string(),
  v.url(),
  v.check(isHttpUrl, 'must have the scheme http or https'),
  v.maxBytes(1000, 'must have 1,000 bytes at most'),
);

export const mail = setting(
  'How mails are sent; [Mail](deploying.md#mail) explains the conditions in AWS.',
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
        page,
        { example: 'https://admin.example.com/account/reset/finish?key=' },
      ),
    ),
    confirmLinkBase: v.optional(
      setting(
        'The URL of the page that confirms a new address; the key is appended to it. Without ' +
          'it, the page is in the console.',
        page,
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
    language: v.optional(
      setting(
        'The language of users for whose language there are [no texts](deploying.md#texts-of-mails).',
        v.string(),
        { example: 'de' },
      ),
      'en',
    ),
  }),
);

export const console = flag(
  'Whether the [console](deploying.md#the-console) is deployed. Without it, `mail.linkBase` is ' +
    'required.',
  true,
);

/**
 * The screens of the console that mailed links lead to. No server sees what follows a `#`. A mail
 * fills `{login}`, so that a password manager knows whose password is set.
 */
export const consoleLinks = (url: string) => ({
  linkBase: `${url}/console/set-password#login={login}&key=`,
  confirmLinkBase: `${url}/console/confirm-email#key=`,
});
