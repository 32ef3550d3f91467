import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { newFolder, removeFolders } from '../support/instance/folders.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import type { Gatehouse } from '../support/instance/launch.ts';

interface Statement {
  Action: string | string[];
}

/** A copy of this run's stack whose IAM statements were changed or removed. */
function stackWith(change: (logicalId: string, statement: Statement) => boolean) {
  const original = inject('assembly');
  const assembly = newFolder();
  for (const file of readdirSync(original).filter((name) => name.endsWith('.json'))) {
    cpSync(join(original, file), join(assembly, file));
  }
  const file = join(assembly, 'Gatehouse-dev.template.json');
  const template = JSON.parse(readFileSync(file, 'utf8'));
  // biome-ignore lint/suspicious/noExplicitAny: the template is whatever it is
  for (const [logicalId, { Properties }] of Object.entries<any>(template.Resources)) {
    const [name = ''] = logicalId.split('role');
    for (const { PolicyDocument } of Properties.Policies ?? [])
      PolicyDocument.Statement = PolicyDocument.Statement.filter((statement: Statement) =>
        change(name, statement),
      );
  }
  writeFileSync(file, JSON.stringify(template));
  return assembly;
}

const MISSING: Record<string, (statement: Statement) => boolean> = {
  GETapihealth: ({ Action }) => Action === 'dynamodb:GetItem',
  POSTapiaccountchangepassword: ({ Action }) => Action === 'kms:GenerateMac',
  POSTapiutmintegrations: ({ Action }) => Action === 'dynamodb:ConditionCheckItem',
  MailFunction: ({ Action }) => Action === 'ses:SendEmail',
};

const PASSWORDS = { currentPassword: 'admin', newPassword: 'another' };

describe('a function that lacks a permission', () => {
  let gatehouse: Gatehouse;
  let token: string;
  beforeAll(async () => {
    const assembly = stackWith((file, statement) => !MISSING[file]?.(statement));
    gatehouse = await startGatehouse({ assembly });
    token = await gatehouse.logIn('admin');
  });
  afterAll(async () => {
    await gatehouse.stop();
    removeFolders();
  });

  function expectLogged(denial: string, before: number): void {
    const lines = gatehouse.lines.slice(before);
    expect(lines).toContain(denial);
    expect(lines.filter((line) => line.includes('AccessDeniedException'))).toHaveLength(1);
  }

  it.each([
    ['GET', '/api/health', undefined, 'dynamodb:GetItem on Table for FORMAT'],
    ['POST', '/api/account/change-password', PASSWORDS, 'kms:GenerateMac on PepperKey'],
    ['POST', '/api/utm-integrations', INTEGRATION, 'dynamodb:ConditionCheckItem on Table for USER'],
  ])('responds to %s %s with 500 and logs the denial once', async (method, path, body, action) => {
    const before = gatehouse.lines.length;

    expect((await gatehouse.call(method, path, { token, body })).status).toBe(500);

    const denial = `${method} ${path} is not authorized to perform ${action}`;
    expect(gatehouse.cloud.deniedCalls).toContain(denial);
    expectLogged(denial, before);
  });

  it('sends no mail and logs the denial', async () => {
    const before = gatehouse.lines.length;

    await gatehouse.call('POST', '/api/account/reset-password/init', {
      body: { email: 'admin@example.com' },
    });
    await gatehouse.cloud.mailsHandedOver();

    const identity = 'arn:aws:ses:eu-central-1:000000000000:identity/gatehouse@example.com';
    expectLogged(`sends mail is not authorized to perform ses:SendEmail on ${identity}`, before);
  });
});
