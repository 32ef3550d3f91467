import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Client } from '../client/client/types.gen.ts';
import { applyPlan, makePlan } from '../client/sdk.gen.ts';
import type { Plan, Problem } from '../client/types.gen.ts';
import { serviceUrl, withClient } from '../session.ts';
import { exportSet } from './export.ts';
import { type Content, readFiles, throwIfAny } from './files.ts';
import { planText } from './plan-text.ts';

const USAGE = `Usage: npx node examples/plan/gatehouse-plan.ts [plan] [--json] [--prune KINDS] DIR
       npx node examples/plan/gatehouse-plan.ts apply [--json] [--prune KINDS] DIR
       npx node examples/plan/gatehouse-plan.ts export SET DIR`;

/** The exit statuses. A plan with a refusal is an error. */
const STATUS = { done: 0, error: 1, changes: 2 } as const;

interface Run {
  readonly client: Client;
  readonly content: Content;
  readonly show: (plan: Plan) => void;
}

async function plan({ client, content, show }: Run): Promise<number> {
  const made = await requestPlan(client, content);
  show(made);
  if (made.refused > 0) return STATUS.error;
  return made.changes.length > 0 ? STATUS.changes : STATUS.done;
}

async function requestPlan(client: Client, content: Content): Promise<Plan> {
  const { data, error } = await makePlan({ client, body: content.body });
  return data ?? fail(error, content);
}

/** Applies what the service plans now. Progress is on standard error, beside the plan. */
async function apply({ client, content, show }: Run): Promise<number> {
  let next = await requestPlan(client, content);
  const total = next.changes.length;
  show(next);
  requireValues(next, content);
  for (let made = 0; next.changes.length > 0; ) {
    if (next.refused > 0) return STATUS.error;
    const values = next.secrets.map((name) => [name, process.env[name] ?? '']);
    const { data, error, response } = await applyPlan({
      client,
      body: { ...content.body, values: Object.fromEntries(values) },
      headers: { 'If-Match': `"${next.digest}"` },
    });
    const problem: Partial<Problem> | undefined = error;
    made += data?.applied ?? problem?.applied ?? 0;
    if (made > 0) console.error(`${made} of ${total} changes are made`);
    if (response?.status === 412 && problem?.plan) {
      console.error('Something has changed since the plan. The plan is now:');
      show(problem.plan);
      return STATUS.error;
    }
    const { rest, retryAfter } = data ?? fail(problem, content);
    if (!rest) break;
    next = rest;
    if (next.refused > 0) show(next);
    if (retryAfter) await wait(retryAfter * 1000);
  }
  return STATUS.done;
}

/** Throws the reason of a rejection, with the places of the fields in the files. */
function fail(error: Partial<Problem> | undefined, content: Content): never {
  throwIfAny(content.explain(error?.fieldErrors ?? []));
  throw error;
}

/** Throws before any change if a secret has no value. */
function requireValues({ secrets }: Plan, { explain }: Content): void {
  const missing = secrets.filter((name) => !process.env[name]);
  const errors = missing.map((name) => ({
    field: `values.${name}`,
    message: 'NotNull' as const,
    reason: `the environment variable ${name} is not set`,
  }));
  throwIfAny(explain(errors));
}

async function run(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { json: { type: 'boolean' }, prune: { type: 'string' } },
    allowPositionals: true,
  });
  const verb = ['plan', 'apply', 'export'].find((each) => each === positionals[0]);
  const [folder = '', ...others] = positionals.slice(verb ? 1 : 0);
  if (verb === 'export' && others.length === 1) {
    await withClient((client) => exportSet(client, folder, others[0] ?? ''));
    return STATUS.done;
  }
  const command = { plan, apply }[verb ?? 'plan'];
  if (!command || !folder || others.length > 0) throw new Error(USAGE);
  const content = await readFiles(folder, values.prune?.split(','));
  const show = (made: Plan) =>
    console.log(values.json ? JSON.stringify(made, null, 2) : planText(made));
  return withClient((client) => command({ client, content, show }));
}

/** The title and detail of a problem; of any other error, its message and the messages of its causes. */
function reasonOf(error: unknown): string {
  const { title, detail, cause, message, code } = error as Partial<Problem & NodeJS.ErrnoException>;
  if (title) return [title, detail].filter(Boolean).join(': ');
  if (code?.startsWith('ERR_PARSE_ARGS')) return `${message}\n${USAGE}`;
  return cause ? `${message}: ${reasonOf(cause)}` : message || code || String(error);
}

process.exitCode = await run().catch((error) => {
  // A problem of the service is not an `Error`; a request without a response is one with a cause.
  const isOfService = !(error instanceof Error) || error.cause !== undefined;
  console.error(`${isOfService ? `${serviceUrl()}: ` : ''}${reasonOf(error)}`);
  return STATUS.error;
});
