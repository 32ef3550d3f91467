import { SESv2Client, SendEmailCommand } from '@aws-sdk/client-sesv2';
import { clientSettings, openConnection } from '../runtime/aws.ts';
import { abortBeforeDeadline } from '../runtime/deadline.ts';
import { requireEnv } from '../runtime/env.ts';
import { recipientOf } from './address.ts';
import { logMailNotSent } from './log-mail-not-sent.ts';
import type { LinkOccasion, NoticeOccasion, Occasion } from './occasion.ts';

/** Subject and text of the mails by language; English is the fallback. `{login}` and `{link}` are placeholders. */
type Templates = Readonly<Record<string, Texts>> & { readonly en: Texts };
type Texts = Readonly<Record<Occasion, { readonly subject: string; readonly text: string }>>;

/** The part of a user that a mail needs. */
interface Recipient {
  readonly id: number;
  readonly login: string;
  readonly email: string;
  readonly langKey: string;
}

/** Sends mail to users through SES. */
export interface Mailer {
  /** Sends a link for setting a password. Throws SDK errors. */
  sendLink(occasion: LinkOccasion, user: Recipient, key: string): Promise<void>;
  /**
   * Notifies `user.email`, the current or the previous address of a user, of a change. Never fails: the change is
   * already committed, so an error is logged. Takes at most NOTICE_TIMEOUT_MS.
   */
  notify(occasion: NoticeOccasion, user: Recipient): Promise<void>;
}

/** How long the response to a change waits for its notice. */
const NOTICE_TIMEOUT_MS = 2000;

/**
 * SES has no idempotency tokens: a retried request sends a second mail. The timeout (milliseconds) is therefore longer
 * than a reset or a notice may take.
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
  // Opened in the cold start, so that handshakes take none of the two seconds of a reset. Without network latency, this
  // saves no time.
  openConnection('email');

  async function send(occasion: Occasion, user: Recipient, link: string, timeoutMs?: number): Promise<void> {
    const texts = Object.hasOwn(templates, user.langKey) ? templates[user.langKey] : undefined;
    const { subject, text } = (texts ?? templates.en)[occasion];
    // Replaced in one pass, because a login may itself be `{link}`.
    const fill = (template: string) =>
      template.replace(/\{(login|link)\}/g, (_, name) => (name === 'login' ? user.login : link));
    const mail = new SendEmailCommand({
      FromEmailAddress: sender,
      ...(configurationSet && { ConfigurationSetName: configurationSet }),
      Destination: { ToAddresses: [recipientOf(user.email)] },
      Content: {
        Simple: {
          Subject: { Data: fill(subject), Charset: 'UTF-8' },
          Body: { Text: { Data: fill(text), Charset: 'UTF-8' } },
        },
      },
    });
    await ses.send(mail, abortBeforeDeadline(timeoutMs));
  }

  return {
    sendLink: (occasion, user, key) => send(occasion, user, `${linkBase}${key}`),
    notify: (occasion, user) =>
      send(occasion, user, '', NOTICE_TIMEOUT_MS).catch((error) =>
        logMailNotSent('noticeNotSent', error, { userId: user.id }),
      ),
  };
}

/** Sends an invitation. Never fails: the account exists, and a password reset sends another link. Errors are logged. */
export async function invite(mailer: Mailer, user: Recipient, key: string): Promise<void> {
  await mailer
    .sendLink('invitation', user, key)
    .catch((error) => logMailNotSent('invitationNotSent', error, { userId: user.id }));
}
