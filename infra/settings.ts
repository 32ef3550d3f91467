import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Node } from 'constructs';
import * as v from 'valibot';

const rate = v.strictObject({ rate: v.pipe(v.number(), v.minValue(1)), burst: v.pipe(v.number(), v.minValue(1)) });
const count = v.pipe(v.number(), v.integer(), v.minValue(1));

const template = v.strictObject({ subject: v.string(), text: v.pipe(v.string(), v.includes('{link}')) });
/** Tells of what has happened: there is nothing to do by a link. */
const notice = v.strictObject({ subject: v.string(), text: v.pipe(v.string(), v.excludes('{link}')) });
const language = v.strictObject({
  reset: template,
  invitation: template,
  passwordChanged: notice,
  emailChanged: notice,
});
/** By language; English is for whoever speaks another. */
const templates = v.pipe(
  v.record(v.string(), language),
  v.check((languages) => Object.hasOwn(languages, 'en'), 'English is missing'),
);

const settings = v.strictObject({
  /** Where it runs. Named here, so that the template can be made without an account. */
  region: v.string(),
  /** Whether the table is protected against deletion, kept when the stack goes, and restorable to any second. */
  keepData: v.boolean(),
  logRetentionDays: v.picklist(Object.values(RetentionDays).filter((days) => typeof days === 'number')),
  /** How long the audit trail is kept. */
  auditDays: count,
  /** What a second of the table can cost at most, in request units. */
  tableMaximum: v.strictObject({ readUnits: count, writeUnits: count }),
  /** Requests a second, for all routes together and for each of those that strangers can make work hard, as the login. */
  throttle: v.strictObject({ all: rate, login: rate }),
  /**
   * How many instances of each of those functions may run at the same time, which bounds what a flood can cost. Reserved
   * from the account's quota, of which 100 must remain unreserved; without it the quota is the bound.
   */
  loginConcurrency: v.optional(count),
  /** What one address may do in 15 minutes, for all accounts together: wrong passwords, and logins and resets in all. */
  guessing: v.pipe(
    v.strictObject({ failuresPerSource: count, requestsPerSource: count }),
    v.check(
      ({ failuresPerSource, requestsPerSource }) => failuresPerSource <= requestsPerSource,
      'failuresPerSource must not be above requestsPerSource: each failure is a request',
    ),
  ),
  /**
   * The keys of tokens by their logical ids: the first signs, all are published. A second one only while the one takes
   * over from the other: docs/operating.md says how.
   */
  signingKeys: v.optional(
    v.pipe(
      v.array(v.pipe(v.string(), v.regex(/^SigningKey[A-Za-z0-9]*$/))),
      v.minLength(1),
      v.check((keys) => new Set(keys).size === keys.length, 'A key stands there once'),
    ),
    ['SigningKey'],
  ),
  tokenLife: v.pipe(
    v.strictObject({ minutes: count, rememberedMinutes: count }),
    v.check(
      ({ minutes, rememberedMinutes }) => minutes <= rememberedMinutes,
      'minutes must not be more than rememberedMinutes, because a token with a longer life is refused with 401',
    ),
  ),
  mail: v.strictObject({
    /** An address that SES has verified, itself or its domain. */
    sender: v.pipe(v.string(), v.email()),
    /** The configuration set of SES that mails are sent with; required where the sender's identity has a default one. */
    configurationSet: v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/))),
    /** The address of the page that sets a password; the key follows it. */
    linkBase: v.pipe(v.string(), v.url()),
    templates,
  }),
  /** Pages of these origins may call the API; none, and browsers keep all others out. */
  corsOrigins: v.array(
    v.pipe(
      v.string(),
      v.url(),
      v.check((origin) => URL.parse(origin)?.origin === origin, 'An origin has no path and no slash at its end'),
    ),
  ),
  /** Whether a function reads the whole table once a day to verify it; without this, no function can. */
  dailyVerification: v.optional(
    v.strictObject({
      /** The topic that is told when the table is not intact: its ARN. */
      alarmTopic: v.optional(v.pipe(v.string(), v.regex(/^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w.-]+$/))),
    }),
  ),
});

/** What differs from one environment to the next. */
export type Settings = v.InferOutput<typeof settings>;

/** The environment that `-c env=…` names, out of the context of cdk.json; fails in one sentence that says what is wrong. */
export function readSettings(node: Node): { name: string; settings: Settings } {
  const name = String(node.tryGetContext('env'));
  const environments: Record<string, unknown> = node.tryGetContext('environments') ?? {};
  if (!Object.hasOwn(environments, name)) {
    throw new Error(`No environment is called ${name}: cdk.json has ${Object.keys(environments).join(', ')}`);
  }
  // The texts of mails are the same everywhere, unless an environment has its own.
  const own = environments[name] as { mail?: object };
  const mail = { templates: node.tryGetContext('mailTemplates'), ...own.mail };
  const { success, output, issues } = v.safeParse(settings, { ...own, mail });
  if (success) return { name, settings: output };
  const wrong = issues.map((issue) => `${v.getDotPath(issue) ?? name}: ${issue.message}`);
  throw new Error(`The settings of ${name} in cdk.json are wrong. ${wrong.join('; ')}`);
}
