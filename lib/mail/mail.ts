import { SESv2Client, SendEmailCommand } from '@aws-sdk/client-sesv2';
import { clientSettings } from '../runtime/aws.ts';
import { abortBeforeDeadline, requireEnv } from '../runtime/execution-environment.ts';
import { recipientOf } from './address.ts';
import type { Occasion } from './outbox.ts';

/** Subject and text of each mail. Their placeholders are the names of `values` below. */
export type Texts = Readonly<Record<Occasion, { readonly subject: string; readonly text: string }>>;

/** The part of a user that a mail needs. */
export interface Recipient {
  readonly login: string;
  readonly email: string;
  readonly langKey: string;
  readonly firstName?: string | undefined;
}

/** What a mail says beside its recipient: its link, if any, ends with the key. */
export interface MailContent {
  readonly key?: string;
  /** The address that the link confirms. */
  readonly newEmail?: string;
  /** The name of the person who invites. */
  readonly inviter?: string;
}

/** Sends mail to users through SES. */
export interface Mailer {
  /** Sends one mail. Throws SDK errors. */
  send(occasion: Occasion, recipient: Recipient, content?: MailContent): Promise<void>;
}

/**
 * SES has no idempotency tokens: a repeated request sends a second mail, so a slow response gets
 * more time. A throttled mail waits as long as the SDK does: no client waits for it.
 */
const sesSettings = {
  maxAttempts: clientSettings.maxAttempts,
  requestHandler: { ...clientSettings.requestHandler, requestTimeout: 3000 },
};

/** Opens a mailer with texts by language, and the sender and the links of the stack. */
export function openMailer(
  texts: Readonly<Record<string, Texts>>,
  ses = new SESv2Client(sesSettings),
): Mailer {
  const sender = requireEnv('MAIL_SENDER');
  const linkBase = requireEnv('MAIL_LINK_BASE');
  const defaultLanguage = requireEnv('MAIL_LANGUAGE');
  const { MAIL_CONFIGURATION_SET: configurationSet } = process.env;
  return {
    async send(occasion, recipient, { key, newEmail, inviter } = {}) {
      const { login, email, langKey, firstName = login } = recipient;
      const inLanguage = texts[languageIn(Object.keys(texts), langKey) ?? defaultLanguage] as Texts;
      const { subject, text } = inLanguage[occasion];
      const base =
        occasion === 'emailConfirmation' ? requireEnv('MAIL_CONFIRM_LINK_BASE') : linkBase;
      const page = base.replace('{login}', () => encodeURIComponent(login));
      const link = key && `${page}${key}`;
      const values = { login, firstName, link, email: newEmail, inviter };
      // Replaced in one pass, because a login may itself be `{link}`.
      const fill = (template: string) =>
        template.replace(
          /\{(login|firstName|link|email|inviter)\}/g,
          (placeholder, name: keyof typeof values) => values[name] ?? placeholder,
        );
      const mail = new SendEmailCommand({
        FromEmailAddress: sender,
        ...(configurationSet && { ConfigurationSetName: configurationSet }),
        Destination: { ToAddresses: [recipientOf(email)] },
        Content: {
          Simple: {
            Subject: { Data: fill(subject), Charset: 'UTF-8' },
            Body: { Text: { Data: fill(text), Charset: 'UTF-8' } },
            // No out-of-office note answers such a mail (RFC 3834, 5).
            Headers: [{ Name: 'Auto-Submitted', Value: 'auto-generated' }],
          },
        },
      });
      await ses.send(mail, abortBeforeDeadline());
    },
  };
}

/**
 * The language for a user: the longest prefix that is known (RFC 4647, 3.4), so that `de-AT` and
 * `de_CH` get the texts of `de`.
 */
function languageIn(tags: readonly string[], langKey: string): string | undefined {
  const known = new Map(tags.map((tag) => [normalized(tag), tag]));
  const subtags = normalized(langKey).split('-');
  for (; subtags.length > 0; subtags.pop()) {
    const tag = known.get(subtags.join('-'));
    if (tag !== undefined) return tag;
  }
  return undefined;
}

const normalized = (tag: string): string => tag.replaceAll('_', '-').toLowerCase();
