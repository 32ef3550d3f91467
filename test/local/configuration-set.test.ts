import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSettings } from '../../infra/settings/read-settings.ts';
import { type Gatehouse, startGatehouse } from '../support/instance/gatehouse.ts';
import { shippedContext } from '../support/stack/shipped-context.ts';
import { assemblyOf, synthesizeInProcess } from '../support/stack/stack.ts';

/*
 * Mail with an SES configuration set in the settings, sent by the synthesized stack under its own
 * policies.
 */

const configurationSetsSent: unknown[] = [];
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-configuration-set-'));
let assembly: string;
let gatehouse: Gatehouse;

beforeAll(async () => {
  const { mail } = readSettings(
    new App({ outdir: folder, context: { ...shippedContext, env: 'dev' } }).node,
  ).settings;
  const changes = { mail: { ...mail, configurationSet: 'events' } };
  synthesizeInProcess('dev', changes);
  assembly = assemblyOf('dev', changes);
  gatehouse = await startGatehouse({
    assembly,
    intercept(call, forward) {
      if (call.service === 'SES') configurationSetsSent.push(call.input.ConfigurationSetName);
      return forward();
    },
  });
}, 60_000);
afterAll(async () => {
  await gatehouse.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Copies the stack with policies that do not allow the configuration set. */
function withoutPermission(): string {
  const copy = join(folder, 'copy');
  cpSync(assembly, copy, { recursive: true });
  const file = join(
    copy,
    readdirSync(copy).find((name) => name.endsWith('.template.json')) as string,
  );
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replaceAll('configuration-set/events', 'configuration-set/other'),
  );
  return copy;
}

const invite = (login: string) => gatehouse.makeUser(login, { password: undefined });

describe('a mail', () => {
  it('is sent with the configuration set from the settings', async () => {
    const path = '/api/account/reset-password/init';
    await Promise.all([
      gatehouse.call('POST', path, { body: { email: 'admin@example.com' } }),
      invite('first'),
    ]);
    await gatehouse.cloud.mailsHandedOver();

    expect(configurationSetsSent).toEqual(['events', 'events']);
    expect(gatehouse.cloud.deniedCalls).toEqual([]);
  });

  it('is denied by IAM when the policy does not allow the configuration set', async () => {
    await gatehouse.cloud.redeploy(withoutPermission());

    await invite('second');
    await gatehouse.cloud.mailsHandedOver();

    const [denied] = gatehouse.cloud.deniedCalls;
    expect(denied).toContain('sends mail is not authorized to perform ses:SendEmail on');
    expect(denied).toContain('configuration-set/events');
  });
});
