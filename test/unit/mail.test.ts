import { SESv2Client } from '@aws-sdk/client-sesv2';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { isReachable, isSameRecipient } from '../../lib/mail/address.ts';
import { openMailer, type Texts } from '../../lib/mail/mail.ts';
import { countMail, MAILS_PER_WINDOW, resetsFor } from '../../lib/mail/mail-limit.ts';
import {
  confirmationRequested,
  invited,
  notified,
  OCCASIONS,
  resetRequested,
} from '../../lib/mail/outbox.ts';
import type { User } from '../../lib/users/user.ts';
import { useLogLines } from '../support/doubles/output.ts';
import { type ScriptedResponse, scriptedClient } from '../support/doubles/scripted-client.ts';

const textsIn = (language: string) =>
  Object.fromEntries(
    OCCASIONS.map((occasion) => [
      occasion,
      {
        subject: `${language}: ${occasion} {login}`,
        text: `${language} ${occasion} {login} {link} {login} {link} {other}`,
      },
    ]),
  ) as Texts;
const TEXTS = Object.fromEntries(['en', 'de', 'pt-BR'].map((tag) => [tag, textsIn(tag)]));

const lines = useLogLines();
beforeEach(() => {
  vi.stubEnv('MAIL_SENDER', 'gates@example.com');
  vi.stubEnv('MAIL_LINK_BASE', 'https://gates.example.com/reset?key=');
  vi.stubEnv('MAIL_LANGUAGE', 'en');
  vi.stubEnv('MAIL_CONFIGURATION_SET', undefined);
});

const SENT = { MessageId: '1' };
const REJECTED = { error: 'MessageRejected' };
function mailerReceiving(response: ScriptedResponse, texts = TEXTS) {
  const { settings, requests, inputs } = scriptedClient(response);
  return { mailer: openMailer(texts, new SESv2Client(settings)), requests, inputs };
}
const ada = { id: 7, login: 'ada', email: 'ada@example.com', langKey: 'en' } as User;

describe('a mail with a link', () => {
  it('goes to the address of the user with the key in the link', async () => {
    const { mailer, requests } = mailerReceiving(SENT);

    await mailer.send('invitation', ada, { key: 'k3y' });

    const link = 'https://gates.example.com/reset?key=k3y';
    const text = `en invitation ada ${link} ada ${link} {other}`;
    expect(requests.map(({ operation, input }) => [operation, input])).toEqual([
      [
        '/v2/email/outbound-emails',
        {
          FromEmailAddress: 'gates@example.com',
          Destination: { ToAddresses: ['ada@example.com'] },
          Content: {
            Simple: {
              Subject: { Data: 'en: invitation ada', Charset: 'UTF-8' },
              Body: { Text: { Data: text, Charset: 'UTF-8' } },
              Headers: [{ Name: 'Auto-Submitted', Value: 'auto-generated' }],
            },
          },
        },
      ],
    ]);
  });

  it('names the configuration set if there is one', async () => {
    vi.stubEnv('MAIL_CONFIGURATION_SET', 'gates');
    const { mailer, inputs } = mailerReceiving(SENT);

    await mailer.send('reset', ada, { key: 'k3y' });

    expect(inputs()[0].ConfigurationSetName).toBe('gates');
  });

  it.each([
    ['en', 'en'],
    ['de', 'de'],
    ['de-AT', 'de'],
    ['de_CH', 'de'],
    ['de-x-1901', 'de'],
    ['pt_br', 'pt-BR'],
    ['pt-BR-x-1990', 'pt-BR'],
    ['d', 'en'],
    ['', 'en'],
    ['__proto__', 'en'],
  ])('for a user with langKey %s is written in %s', async (langKey, language) => {
    const { mailer, inputs } = mailerReceiving(SENT);

    await mailer.send('reset', { ...ada, langKey }, { key: 'k3y' });

    const { Subject, Body } = inputs()[0].Content.Simple;
    expect(Subject.Data).toBe(`${language}: reset ada`);
    expect(Body.Text.Data).toMatch(new RegExp(`^${language} reset ada `));
  });

  it('names who is invited and who invites literally', async () => {
    const mail = { subject: '{login}', text: '{firstName} {inviter} {login}' };
    const texts = { en: { ...textsIn('en'), invitation: mail } };
    const sentTo = async (recipient: User) => {
      const { mailer, inputs } = mailerReceiving(SENT, texts);
      await mailer.send('invitation', recipient, { key: 'k3y', inviter: '{link} Lovelace' });
      const { Subject, Body } = inputs()[0].Content.Simple;
      return [Subject.Data, Body.Text.Data];
    };

    expect(await sentTo({ ...ada, login: '$&{link}', firstName: '{inviter}' })).toEqual([
      '$&{link}',
      '{inviter} {link} Lovelace $&{link}',
    ]);
    expect(await sentTo(ada)).toEqual(['ada', 'ada {link} Lovelace ada']);
  });

  it.each([
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['Ada@例え。JP', 'Ada@xn--r8jz45g.jp'],
    ['älice@bücher.example', 'älice@xn--bcher-kva.example'],
    ['ada@not a domain', 'ada@not a domain'],
  ])('goes to %s with the domain in Punycode, as SES requires: %s', async (email, recipient) => {
    const { mailer, inputs } = mailerReceiving(SENT);

    await mailer.send('reset', { ...ada, email }, { key: 'k3y' });

    expect(inputs()[0].Destination).toEqual({ ToAddresses: [recipient] });
  });

  it('fails with the error of SES, without a retry', async () => {
    const { mailer, requests } = mailerReceiving(REJECTED);

    await expect(mailer.send('reset', ada, { key: 'k3y' })).rejects.toMatchObject({
      name: 'MessageRejected',
    });
    expect(requests).toHaveLength(1);
    expect(lines).toEqual([]);
  });
});

describe('the mail that confirms a new address', () => {
  const mail = { subject: '', text: '{email} {link} {login} {other}' };
  const texts = { en: { ...textsIn('en'), emailConfirmation: mail, reset: mail } };
  const send = async (email?: string) => {
    const { mailer, inputs } = mailerReceiving(SENT, texts);
    await mailer.send(email ? 'emailConfirmation' : 'reset', ada, {
      key: 'k3y',
      ...(email !== undefined && { newEmail: email }),
    });
    return inputs()[0].Content.Simple.Body.Text.Data;
  };

  it('names the new address literally, and its link leads to another page', async () => {
    vi.stubEnv('MAIL_CONFIRM_LINK_BASE', 'https://gates.example.com/confirm?key=');

    expect(await send('{link}@b.c')).toBe(
      '{link}@b.c https://gates.example.com/confirm?key=k3y ada {other}',
    );
  });

  it('is not sent without a page, and no other mail names an address', async () => {
    await expect(send('new@b.c')).rejects.toThrow('MAIL_CONFIRM_LINK_BASE is not set');
    expect(await send()).toMatch(/^\{email\} https:.*reset\?key=k3y ada/);
  });
});

describe('a mailer', () => {
  it('waits three seconds for SES and makes three attempts', async () => {
    const send = vi.spyOn(SESv2Client.prototype, 'send').mockImplementation(async () => SENT);

    await openMailer(TEXTS).send('reset', ada, { key: 'k3y' });

    const [client] = send.mock.contexts as unknown as [SESv2Client];
    // biome-ignore lint/suspicious/noExplicitAny: the SDK hides the type of this configuration
    const handler = await (client.config.requestHandler as any).configProvider;
    expect(handler).toMatchObject({
      connectionTimeout: 500,
      requestTimeout: 3000,
      throwOnRequestTimeout: true,
    });
    expect(await client.config.maxAttempts()).toBe(3);
  });

  it.each(['MAIL_SENDER', 'MAIL_LINK_BASE', 'MAIL_LANGUAGE'])(
    'does not start without %s',
    (name) => {
      vi.stubEnv(name, '');

      expect(() => mailerReceiving(SENT)).toThrow(`The environment variable ${name} is not set`);
    },
  );
});

describe('the mail limit', () => {
  const KEY = { pk: 'MAILS#0000000000000007', sk: 'emailChanged' };
  const NOW = Date.UTC(2030, 0, 1) + 400;
  const HOUR = 3_600_000;

  it.each([
    ['reset', 10],
    ['emailConfirmation', 5],
    ['passwordChanged', 20],
    ['emailChanged', 20],
  ] as const)('for %s is %i per hour', (occasion, limit) => {
    const since = NOW - HOUR + 1;
    const counted = (n: number, start = since) =>
      countMail(KEY, { n, since: start }, NOW, limit)?.attributes;

    expect(MAILS_PER_WINDOW[occasion]).toBe(limit);
    expect(counted(limit - 1)).toMatchObject({ n: limit, since });
    expect(counted(limit)).toBeUndefined();
    expect(counted(limit + 1)).toBeUndefined();
    expect(counted(limit, NOW - HOUR)).toMatchObject({ n: 1, since: NOW });
  });

  it('starts a window with the first mail, which expires an hour later', () => {
    expect(countMail(KEY, undefined, NOW, 20)).toEqual({
      act: 'Put',
      key: KEY,
      attributes: { n: 1, since: NOW, expires: Math.ceil(NOW / 1000) + 3600 },
      condition: 'attribute_not_exists(pk)',
      onConditionFailed: 'retry',
    });
  });

  it('counts on condition that the count of the account has not changed', () => {
    expect(countMail(KEY, { n: 2, since: NOW - 5000 }, NOW, 5)).toEqual({
      act: 'Put',
      key: KEY,
      attributes: { n: 3, since: NOW - 5000, expires: Math.ceil((NOW - 5000) / 1000) + 3600 },
      condition: '#n = :n AND #since = :since',
      names: { '#n': 'n', '#since': 'since' },
      values: { ':n': 2, ':since': NOW - 5000 },
      onConditionFailed: 'retry',
    });
    // Two mails at the same time could otherwise both be the first of a new window.
    expect(countMail(KEY, { n: 2, since: NOW - HOUR }, NOW, 5)).toMatchObject({
      condition: '#n = :n AND #since = :since',
      values: { ':n': 2, ':since': NOW - HOUR },
    });
  });
});

it.each([
  ['Kim@example.com', 'kim@EXAMPLE.com', true],
  ['\u212Aim@example.com', 'kim@example.com', false],
])('mail to %s and %s reaches the same mailbox: %s', (one, other, isSame) =>
  expect(isSameRecipient(one, other)).toBe(isSame),
);

it.each([
  [
    'reaches',
    true,
    [
      "!#$%&'*+-/=?^_`{|}~.a@b.c",
      `${'a'.repeat(64)}@b.c`,
      'a@b\u00fccher.c.',
      `a@${'b'.repeat(63)}.c-1`,
      'a@1.b2.3c',
      `a@${'b.'.repeat(126)}c`,
    ],
  ],
  [
    'does not reach',
    false,
    [
      ...['\u00fc@b.c', '.a@b.c', 'a.@b.c', 'a..a@b.c', `${'a'.repeat(65)}@b.c`, 'a@b'],
      ...['a@b_b.c', 'a@-b.c', 'a@b-.c', `a@${'b'.repeat(64)}.c`, 'a@1.2.3.4'],
      `a@${'b.'.repeat(126)}cc`,
    ],
  ],
])('SES %s some addresses', (_, expected, addresses) => {
  expect(addresses.filter((address) => isReachable(address) !== expected)).toEqual([]);
});

it.each([
  ['few', { n: 4, since: 1 }, 9],
  ['many', { n: 5, since: 1 }, 4],
  ['many in an earlier hour', { n: 9, since: 0 }, 9],
  ['none', undefined, 9],
])('a source that has caused %s may cause a reset: %j', (_, count, limit) => {
  expect(resetsFor(count, 9, 3_600_000)).toBe(limit);
});

it.each([
  ['a reset', resetRequested('a@b.c', '192.0.2.1', 7000), 3600],
  ['a confirmation', confirmationRequested(ada, 'new@b.c', 7000), 3600],
  ['an invitation', invited(ada, ada, 7000), 30 * 86_400],
  ['a notice', notified('emailChanged', ada, 7000), 30 * 86_400],
])('the request of %s expires', (_, { attributes }, seconds) => {
  expect(attributes?.expires).toBe(7 + seconds);
});
