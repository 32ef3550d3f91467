import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Node } from 'constructs';
import * as v from 'valibot';

const throttleLimits = v.strictObject({
  rate: v.pipe(v.number(), v.minValue(1)),
  burst: v.pipe(v.number(), v.minValue(1)),
});
const positiveInteger = v.pipe(v.number(), v.integer(), v.minValue(1));

const template = v.strictObject({ subject: v.string(), text: v.pipe(v.string(), v.includes('{link}')) });
/** Reports a completed change. It asks for no action, so it must not contain a link. */
const notice = v.strictObject({ subject: v.string(), text: v.pipe(v.string(), v.excludes('{link}')) });
const language = v.strictObject({
  reset: template,
  invitation: template,
  passwordChanged: notice,
  emailChanged: notice,
});
/** By language; English is the fallback for all other languages. */
const templates = v.pipe(
  v.record(v.string(), language),
  v.check((languages) => Object.hasOwn(languages, 'en'), 'English is missing'),
);

const settings = v.strictObject({
  /** The AWS region. Set here so that the template can be synthesized without an AWS account. */
  region: v.string(),
  /** Enables deletion protection and point-in-time recovery; retains table, keys and logs when the stack is deleted. */
  keepData: v.boolean(),
  logRetentionDays: v.picklist(Object.values(RetentionDays).filter((days) => typeof days === 'number')),
  /** The retention period of the audit trail. */
  auditDays: positiveInteger,
  /** The maximum throughput of the on-demand table, in request units per second; bounds its cost. */
  tableMaximum: v.strictObject({ readUnits: positiveInteger, writeUnits: positiveInteger }),
  /** Requests per second: `all` for the whole stage, `login` for each route with `strictThrottle`. */
  throttle: v.strictObject({ all: throttleLimits, login: throttleLimits }),
  /**
   * The reserved concurrency of each `strictThrottle` function, which bounds the cost of a flood of requests. It counts
   * against the account's quota, of which 100 must remain unreserved. If it is unset, the quota is the limit.
   */
  loginConcurrency: v.optional(positiveInteger),
  /**
   * Limits per source address and 15 minutes, across all accounts: `failuresPerSource` counts wrong passwords,
   * `requestsPerSource` all logins and resets.
   */
  guessing: v.pipe(
    v.strictObject({ failuresPerSource: positiveInteger, requestsPerSource: positiveInteger }),
    v.check(
      ({ failuresPerSource, requestsPerSource }) => failuresPerSource <= requestsPerSource,
      'failuresPerSource must not exceed requestsPerSource: each failure is a request',
    ),
  ),
  /**
   * The logical ids of the signing keys: the first signs, all are published. A second one is needed only during a key
   * rotation; docs/operating.md has the procedure.
   */
  signingKeys: v.optional(
    v.pipe(
      v.array(v.pipe(v.string(), v.regex(/^SigningKey[A-Za-z0-9]*$/))),
      v.minLength(1),
      v.check((keys) => new Set(keys).size === keys.length, 'Each key must be listed only once'),
    ),
    ['SigningKey'],
  ),
  tokenLife: v.pipe(
    v.strictObject({ minutes: positiveInteger, rememberedMinutes: positiveInteger }),
    v.check(
      ({ minutes, rememberedMinutes }) => minutes <= rememberedMinutes,
      'minutes must not exceed rememberedMinutes: a token with a longer lifetime is rejected with 401',
    ),
  ),
  mail: v.strictObject({
    /** A verified SES identity: either the address itself or its domain is verified. */
    sender: v.pipe(v.string(), v.email()),
    /** The SES configuration set to send with; required if the sender's identity has a default configuration set. */
    configurationSet: v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/))),
    /** The URL of the page that sets a password; the reset key is appended to it. */
    linkBase: v.pipe(v.string(), v.url()),
    templates,
  }),
  /** The origins that CORS allows to call the API; empty means that browsers block all cross-origin calls. */
  corsOrigins: v.array(
    v.pipe(
      v.string(),
      v.url(),
      v.check((origin) => URL.parse(origin)?.origin === origin, 'An origin must not have a path or a trailing slash'),
    ),
  ),
  /** Deploys a function that scans and verifies the table once a day; if unset, no function is allowed to scan. */
  dailyVerification: v.optional(
    v.strictObject({
      /** The ARN of the SNS topic that the alarm notifies. */
      alarmTopic: v.optional(v.pipe(v.string(), v.regex(/^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w.-]+$/))),
    }),
  ),
});

/** The settings of one environment. */
export type Settings = v.InferOutput<typeof settings>;

/** Reads the environment that `-c env=…` selects in cdk.json. Throws a single error that lists all violations. */
export function readSettings(node: Node): { name: string; settings: Settings } {
  const name = String(node.tryGetContext('env'));
  const environments: Record<string, unknown> = node.tryGetContext('environments') ?? {};
  if (!Object.hasOwn(environments, name)) {
    throw new Error(`There is no environment ${name}: cdk.json has ${Object.keys(environments).join(', ')}`);
  }
  // All environments share the mail templates unless an environment overrides them.
  const own = environments[name] as { mail?: object };
  const mail = { templates: node.tryGetContext('mailTemplates'), ...own.mail };
  const { success, output, issues } = v.safeParse(settings, { ...own, mail });
  if (success) return { name, settings: output };
  const violations = issues.map((issue) => `${v.getDotPath(issue) ?? name}: ${issue.message}`);
  throw new Error(`The settings of ${name} in cdk.json are invalid. ${violations.join('; ')}`);
}
