import { SESv2Client, SendEmailCommand } from '@aws-sdk/client-sesv2';
import { clientSettings, inTime } from '../aws.ts';
import { logError } from '../log.ts';
import { setting } from '../setting.ts';
import type { User } from '../users/user.ts';

/** The occasions on which a user gets mail. */
export type Occasion = 'reset' | 'invitation';

/** What stands in a mail, by language, English for all others; `{login}` and `{link}` become the user's. */
type Templates = Readonly<Record<string, Texts>> & { readonly en: Texts };
type Texts = Readonly<Record<Occasion, { readonly subject: string; readonly text: string }>>;

/** Sends mail to users. */
export interface Mailer {
  /** Sends the link by which a password is set. Fails as SES does. */
  sendLink(occasion: Occasion, user: User, key: string): Promise<void>;
}

/** Mail by the sender, the links and the templates that the stack names. */
export function openMailer(ses = new SESv2Client(clientSettings)): Mailer {
  const sender = setting('MAIL_SENDER');
  const linkBase = setting('MAIL_LINK_BASE');
  const templates: Templates = JSON.parse(setting('MAIL_TEMPLATES'));
  return {
    async sendLink(occasion, user, key) {
      const texts = Object.hasOwn(templates, user.langKey) ? templates[user.langKey] : undefined;
      const { subject, text } = (texts ?? templates.en)[occasion];
      const link = `${linkBase}${key}`;
      // In one pass: a login may well be `{link}`.
      const filled = text.replace(/\{(login|link)\}/g, (_, name) => (name === 'login' ? user.login : link));
      const mail = new SendEmailCommand({
        FromEmailAddress: sender,
        Destination: { ToAddresses: [user.email] },
        Content: {
          Simple: {
            Subject: { Data: subject, Charset: 'UTF-8' },
            Body: { Text: { Data: filled, Charset: 'UTF-8' } },
          },
        },
      });
      await ses.send(mail, inTime());
    },
  };
}

/** Sends an invitation. When that fails the account is there all the same: asking for a forgotten password sends another link. */
export async function invite(mailer: Mailer, user: User, key: string): Promise<void> {
  await mailer
    .sendLink('invitation', user, key)
    .catch((error) => logError('invitationNotSent', error, { userId: user.id }));
}
