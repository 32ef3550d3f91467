import { SESv2Client, SendEmailCommand } from '@aws-sdk/client-sesv2';
import { clientSettings } from '../runtime/aws.ts';
import { abortBeforeDeadline } from '../runtime/deadline.ts';
import { requireEnv } from '../runtime/env.ts';
import { recipientOf } from './address.ts';
import type { Occasion } from './occasion.ts';

/**
 * Subject and text of the mails by language; English is the fallback. `{login}` and `{link}` are
 * placeholders.
 */
type Templates = Readonly<Record<string, Texts>> & { readonly en: Texts };
type Texts = Readonly<Record<Occasion, { readonly subject: string; readonly text: string }>>;

/** The part of a user that a mail needs. */
export interface Recipient {
  readonly login: string;
  readonly email: string;
  readonly langKey: string;
}

/** Sends mail to users through SES. */
export interface Mailer {
  /** Sends one mail. The link of a reset or an invitation ends with the key. Throws SDK errors. */
  send(occasion: Occasion, recipient: Recipient, key?: string): Promise<void>;
}

/**
 * SES has no idempotency tokens: a repeated request sends a second mail, so a slow response gets
 * more time.
 */
const sesSettings = {
  ...clientSettings,
  requestHandler: { ...clientSettings.requestHandler, requestTimeout: 3000 },
};

/** Opens a mailer with the sender, the base of the links and the templates of the stack. */
export function openMailer(ses = new SESv2Client(sesSettings)): Mailer {
  const sender = requireEnv('MAIL_SENDER');
  const linkBase = requireEnv('MAIL_LINK_BASE');
  const templates: Templates = JSON.parse(requireEnv('MAIL_TEMPLATES'));
  const { MAIL_CONFIGURATION_SET: configurationSet } = process.env;
  return {
    // Stryker disable next-line StringLiteral: a mail without a key has no link
    async send(occasion, { login, email, langKey }, key = '') {
      const { subject, text } = textsIn(templates, langKey)[occasion];
      const link = `${linkBase}${key}`;
      // Replaced in one pass, because a login may itself be `{link}`.
      const fill = (template: string) =>
        template.replace(/\{(login|link)\}/g, (_, name) => (name === 'login' ? login : link));
      const mail = new SendEmailCommand({
        FromEmailAddress: sender,
        ...(configurationSet && { ConfigurationSetName: configurationSet }),
        Destination: { ToAddresses: [recipientOf(email)] },
        Content: {
          Simple: {
            Subject: { Data: fill(subject), Charset: 'UTF-8' },
            Body: { Text: { Data: fill(text), Charset: 'UTF-8' } },
          },
        },
      });
      await ses.send(mail, abortBeforeDeadline());
    },
  };
}

/**
 * The texts in the language of a user: of the templates, the one with the longest matching prefix
 * (RFC 4647, 3.4), so that `de-AT` and `de_CH` get the texts of `de`.
 */
function textsIn(templates: Templates, langKey: string): Texts {
  const known = new Map(Object.entries(templates).map(([tag, texts]) => [normalized(tag), texts]));
  const subtags = normalized(langKey).split('-');
  for (; subtags.length > 0; subtags.pop()) {
    const texts = known.get(subtags.join('-'));
    if (texts) return texts;
  }
  return templates.en;
}

// Stryker disable next-line MethodExpression: both sides are compared in the same case
const normalized = (tag: string): string => tag.replaceAll('_', '-').toLowerCase();
