import { SESv2Client, SendEmailCommand } from '@aws-sdk/client-sesv2';
import { clientSettings, inTime, openConnection } from '../runtime/aws.ts';
import { requireEnv } from '../runtime/env.ts';
import { logError } from '../runtime/log.ts';
import type { LinkOccasion, NoticeOccasion, Occasion } from './occasion.ts';

/** What stands in a mail, by language, English for all others; `{login}` and `{link}` become the user's. */
type Templates = Readonly<Record<string, Texts>> & { readonly en: Texts };
type Texts = Readonly<Record<Occasion, { readonly subject: string; readonly text: string }>>;

/** A user, as far as mail is concerned. */
interface Recipient {
  readonly id: number;
  readonly login: string;
  readonly email: string;
  readonly langKey: string;
}

/** Sends mail to users. */
export interface Mailer {
  /** Sends the link by which a password is set. Fails as SES does. */
  sendLink(occasion: LinkOccasion, user: Recipient, key: string): Promise<void>;
  /**
   * Tells the holder of the address that a user has, or had until now, what has changed. Never fails: the change has been
   * made, so what goes wrong with the mail is logged. Takes NOTICE_TIMEOUT at the most.
   */
  notify(occasion: NoticeOccasion, user: Recipient): Promise<void>;
}

/** What the answer to a change can wait for its notice; milliseconds. */
const NOTICE_TIMEOUT = 2000;

/**
 * SES knows no tokens: what is asked for again is sent again. So a late answer is waited for longer than a reset or a
 * notice may take.
 */
const patientSettings = {
  ...clientSettings,
  requestHandler: { ...clientSettings.requestHandler, requestTimeout: 3000 },
};

/** Mail by the sender, the links and the templates that the stack names. */
export function openMailer(ses = new SESv2Client(patientSettings)): Mailer {
  const sender = requireEnv('MAIL_SENDER');
  const linkBase = requireEnv('MAIL_LINK_BASE');
  const templates: Templates = JSON.parse(requireEnv('MAIL_TEMPLATES'));
  const { MAIL_CONFIGURATION_SET: configurationSet } = process.env;
  // In the cold start, so that the first mail does not have to wait for it.
  openConnection('email');

  async function send(occasion: Occasion, user: Recipient, link: string, longest?: number): Promise<void> {
    const texts = Object.hasOwn(templates, user.langKey) ? templates[user.langKey] : undefined;
    const { subject, text } = (texts ?? templates.en)[occasion];
    // In one pass: a login may well be `{link}`.
    const filled = text.replace(/\{(login|link)\}/g, (_, name) => (name === 'login' ? user.login : link));
    const mail = new SendEmailCommand({
      FromEmailAddress: sender,
      ...(configurationSet && { ConfigurationSetName: configurationSet }),
      Destination: { ToAddresses: [user.email] },
      Content: {
        Simple: {
          Subject: { Data: subject, Charset: 'UTF-8' },
          Body: { Text: { Data: filled, Charset: 'UTF-8' } },
        },
      },
    });
    await ses.send(mail, inTime(longest));
  }

  return {
    sendLink: (occasion, user, key) => send(occasion, user, `${linkBase}${key}`),
    notify: (occasion, user) =>
      send(occasion, user, '', NOTICE_TIMEOUT).catch((error) => logError('noticeNotSent', error, { userId: user.id })),
  };
}

/** Sends an invitation. When that fails the account is there all the same: asking for a forgotten password sends another link. */
export async function invite(mailer: Mailer, user: Recipient, key: string): Promise<void> {
  await mailer
    .sendLink('invitation', user, key)
    .catch((error) => logError('invitationNotSent', error, { userId: user.id }));
}
