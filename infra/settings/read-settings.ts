import type { Node } from 'constructs';
import * as v from 'valibot';
import { context } from './context.ts';
import { placeholdersIn } from './placeholders.ts';
import { type Settings, settings } from './settings.ts';

/** Keys of the CDK itself; all others contain a colon. */
const CDK_KEYS = ['cli-telemetry', 'acknowledged-issue-numbers'];

/** What cdk.json and `-c` select: an environment and its settings. */
interface Selection {
  readonly name: string;
  readonly settings: Settings;
  /** The paths of settings that must be replaced before a deployment. */
  readonly placeholders: readonly string[];
  /** Whether the template is checked against the AWS Solutions rules. */
  readonly checked: boolean;
}

/**
 * Reads the environment that `-c env=…` selects in cdk.json. Throws a single error that lists all
 * violations.
 */
export function readSettings(node: Pick<Node, 'getAllContext'>): Selection {
  const all: Record<string, unknown> = node.getAllContext();
  rejectUnknownKeys(Object.keys(all));
  const name = String(all.env);
  const environments = objectIn(all.environments ?? {}, 'The environments');
  if (!Object.hasOwn(environments, name)) {
    throw new Error(
      `There is no environment ${name}: cdk.json has ` +
        `${Object.keys(environments).join(', ') || 'none'}.`,
    );
  }
  if (!/^[A-Za-z0-9-]+$/.test(name)) {
    throw new Error(
      `The name of the environment "${name}" must consist of letters, digits and hyphens: ` +
        'its stacks are named after it.',
    );
  }
  const own = objectIn(environments[name], `The environment ${name}`);
  const { unprotected = own.unprotected, allowPlaceholders = false, checked = true } = flagsIn(all);
  const { deployment = own.deployment, mailTemplates } = all;
  // All environments share the mail templates unless an environment overrides them.
  const mail = { templates: mailTemplates, ...(own.mail as object) };
  const environment = withoutUndefined({ ...own, unprotected, deployment, mail });
  const { success, output, issues } = parse(environment);
  const invalid = (violations: string[]) =>
    new Error(`The settings of ${name} in cdk.json are invalid. ${violations.join('; ')}.`);
  if (!success) {
    const known = issues.filter((issue) => !isUnknown(issue)).map(violationOf);
    throw invalid([...known, ...unknownSettings(environment)]);
  }

  const placeholders = output.keepData ? placeholdersIn(output) : [];
  if (placeholders.length > 0 && !allowPlaceholders)
    throw invalid(
      placeholders.map(
        ({ path, value }) => `${path}: replace the placeholder ${JSON.stringify(value)}`,
      ),
    );
  return { name, settings: output, placeholders: placeholders.map(({ path }) => path), checked };
}

const parse = (environment: object) => v.safeParse(settings, environment, { abortPipeEarly: true });
const isUnknown = ({ expected }: v.BaseIssue<unknown>): boolean => expected === 'never';

/**
 * Valibot reports one unknown key of each object, so these are removed until it reports none that
 * is new.
 */
function unknownSettings(environment: object): string[] {
  const rest = structuredClone(environment);
  const found = new Set<string>();
  for (;;) {
    const before = found.size;
    for (const issue of parse(rest).issues?.filter(isUnknown) ?? []) {
      found.add(violationOf(issue));
      const last = issue.path?.at(-1);
      if (last) delete (last.input as Record<string, unknown>)[String(last.key)];
    }
    if (found.size === before) return [...found];
  }
}

/** The keys that are true or false. The CDK CLI passes the values of `-c` as strings. */
function flagsIn(context: Record<string, unknown>) {
  const flags: Partial<Record<'unprotected' | 'allowPlaceholders' | 'checked', boolean>> = {};
  for (const key of ['unprotected', 'allowPlaceholders', 'checked'] as const) {
    const value = context[key];
    if (value === undefined) continue;
    if (!/^(true|false)$/.test(String(value)))
      throw new Error(`${key} must be true or false, not ${value}.`);
    flags[key] = String(value) === 'true';
  }
  return flags;
}

function objectIn(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error(`${name} in cdk.json must be an object.`);
}

const withoutUndefined = (values: object): object =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

/** A misspelled `-c env=prod` would otherwise deploy the default environment. */
function rejectUnknownKeys(keys: readonly string[]): void {
  const known = [...Object.keys(context.entries), ...CDK_KEYS];
  const unknown = keys.find((key) => !key.includes(':') && !known.includes(key));
  if (unknown === undefined) return;
  throw new Error(
    `There is no context key ${unknown}; there are ${Object.keys(context.entries).join(', ')}.`,
  );
}

function violationOf(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  if (isUnknown(issue)) return `${path}: unknown setting`;
  if (issue.received === 'undefined') return `${path}: missing`;
  const isText = typeof issue.input === 'string' && issue.message.startsWith('must ');
  return `${path}: ${issue.message}${isText ? `, but is ${issue.received}` : ''}`;
}
