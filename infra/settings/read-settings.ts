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
export function readSettings(node: Pick<Node, 'getAllContext' | 'tryGetContext'>): Selection {
  rejectUnknownKeys(Object.keys(node.getAllContext()));
  const name = String(node.tryGetContext('env'));
  const environments = node.tryGetContext('environments') ?? {};
  if (!isObject(environments)) throw new Error('The environments in cdk.json must be an object.');
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
  const own = environments[name];
  if (!isObject(own)) throw new Error(`The environment ${name} in cdk.json must be an object.`);
  // All environments share the mail templates unless an environment overrides them.
  const mail = { templates: node.tryGetContext('mailTemplates'), ...(own.mail as object) };
  const environment = { ...own, ...overridesIn(node), mail };
  const { success, output, issues } = parse(environment);
  const invalid = (violations: string[]) =>
    new Error(`The settings of ${name} in cdk.json are invalid. ${violations.join('; ')}.`);
  if (!success) {
    const known = issues.filter((issue) => !isUnknown(issue)).map(violationOf);
    throw invalid([...known, ...unknownSettings(environment)]);
  }

  const placeholders = output.keepData ? placeholdersIn(output) : [];
  const arePlaceholdersAllowed = booleanIn(node, 'allowPlaceholders') ?? false;
  if (placeholders.length > 0 && !arePlaceholdersAllowed)
    throw invalid(
      placeholders.map(
        ({ path, value }) => `${path}: replace the placeholder ${JSON.stringify(value)}`,
      ),
    );
  const checked = booleanIn(node, 'checked') ?? true;
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

/**
 * The settings that `-c` overrides for one deployment. The CDK CLI passes their values as strings.
 */
function overridesIn(node: Pick<Node, 'tryGetContext'>): {
  unprotected?: boolean;
  deployment?: unknown;
} {
  const unprotected = booleanIn(node, 'unprotected');
  const deployment = node.tryGetContext('deployment');
  return {
    ...(unprotected !== undefined && { unprotected }),
    ...(deployment !== undefined && { deployment }),
  };
}

function booleanIn(node: Pick<Node, 'tryGetContext'>, key: string): boolean | undefined {
  const value = node.tryGetContext(key);
  if (value === undefined) return undefined;
  if (!/^(true|false)$/.test(String(value)))
    throw new Error(`${key} must be true or false, not ${value}.`);
  return String(value) === 'true';
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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
