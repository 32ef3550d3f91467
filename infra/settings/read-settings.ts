import type { Node } from 'constructs';
import * as v from 'valibot';
import { context } from './context.ts';
import { placeholdersIn } from './placeholders.ts';
import { settings } from './settings.ts';

/** Keys of the CDK itself; all others contain a colon. */
const CDK_KEYS = ['cli-telemetry', 'acknowledged-issue-numbers'];

/**
 * Reads the environment that `-c env=…` selects in cdk.json. Throws a single error that lists all
 * violations.
 */
export function readSettings(node: Pick<Node, 'getAllContext'>) {
  const all: Record<string, unknown> = node.getAllContext();
  rejectUnknownKeys(Object.keys(all));
  const name = String(all.env);
  const environments = Object(all.environments);
  if (!Object.hasOwn(environments, name)) {
    const names = Object.keys(environments).join(', ') || 'none';
    throw new Error(`There is no environment ${name}: cdk.json has ${names}.`);
  }
  const own = environments[name];
  const environment = {
    ...own,
    // All environments share the mail templates unless an environment overrides them.
    mail: { templates: all.mailTemplates, ...own?.mail },
    ...(all.unprotected !== undefined && { unprotected: flagIn(all, 'unprotected') }),
    ...(all.deployment !== undefined && { deployment: all.deployment }),
  };
  const { success, output, issues } = v.safeParse(settings, environment, { abortPipeEarly: true });
  const invalid = (violations: string[]) =>
    new Error(`The settings of ${name} in cdk.json are invalid. ${violations.join('; ')}.`);
  if (!success) throw invalid(issues.map(violationOf));

  const placeholders = output.keepData ? placeholdersIn(output) : [];
  if (placeholders.length > 0 && !flagIn(all, 'allowPlaceholders', false))
    throw invalid(
      placeholders.map(
        ({ path, value }) => `${path}: replace the placeholder ${JSON.stringify(value)}`,
      ),
    );
  return {
    name,
    settings: output,
    /** The paths of settings that must be replaced before a deployment. */
    placeholders: placeholders.map(({ path }) => path),
    checked: flagIn(all, 'checked', true),
  };
}

/** A misspelled `-c env=prod` would otherwise deploy the default environment. */
function rejectUnknownKeys(keys: readonly string[]): void {
  const known = [...Object.keys(context.entries), ...CDK_KEYS];
  const unknown = keys.find((key) => !key.includes(':') && !known.includes(key));
  if (unknown === undefined) return;
  throw new Error(
    `There is no context key ${unknown}; there are ${Object.keys(context.entries).join(', ')}.`,
  );
}

/** A value that is true or false. The CDK CLI passes the values of `-c` as strings. */
function flagIn(context: Record<string, unknown>, key: string, byDefault?: boolean): boolean {
  const value = String(context[key] ?? byDefault);
  if (!/^(true|false)$/.test(value)) throw new Error(`${key} must be true or false, not ${value}.`);
  return value === 'true';
}

function violationOf(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  if (issue.expected === 'never') return `${path}: unknown setting`;
  if (issue.received === 'undefined') return `${path}: missing`;
  const isText = typeof issue.input === 'string' && issue.message.startsWith('must ');
  return `${path}: ${issue.message}${isText ? `, but is ${issue.received}` : ''}`;
}
