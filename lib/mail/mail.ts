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

/** Longer than SES takes, and shorter than the answer to who has forgotten a password; milliseconds. */
const TIMEOUT = 700;

/** Sends mail to users. */
export interface Mailer {
  /** Sends the link by which a password is set. What goes wrong is logged: whoever asked learns nothing of it. */
  sendLink(occasion: Occasion, user: User, key: string): Promise<void>;
}

/** Mail by the sender, the links and the templates that the stack names. */
export function openMailer(ses = new SESv2Client(settings())): Mailer {
  const sender = setting('MAIL_SENDER');
  const linkBase = setting('MAIL_LINK_BASE');
  const templates: Templates = JSON.parse(setting('MAIL_TEMPLATES'));
  return {
    async sendLink(occasion, user, key) {
      const texts = Object.hasOwn(templates, user.langKey) ? templates[user.langKey] : undefined;
      const { subject, text } = (texts ?? templates.en)[occasion];
      const link = `${linkBase}${key}`;
      // A function as the replacement: a login may contain `$&`.
      const filled = text.replaceAll('{login}', () => user.login).replaceAll('{link}', () => link);
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
      await ses.send(mail, inTime()).catch((error) => logError('mailNotSent', error, { userId: user.id }));
    },
  };
}

/** One try: a mail that was sent although its answer was lost would be sent twice. */
function settings() {
  return {
    ...clientSettings,
    maxAttempts: 1,
    requestHandler: { ...clientSettings.requestHandler, requestTimeout: TIMEOUT },
  };
}
