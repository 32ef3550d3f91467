import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import type { Gatehouse } from '../support/instance/launch.ts';

interface Statement {
  Action: string | string[];
}

/** A copy of this run's stack whose IAM statements were changed or removed. */
function stackWith(change: (logicalId: string, statement: Statement) => boolean) {
  const original = inject('assembly');
  const assembly = mkdtempSync(join(tmpdir(), 'gatehouse-permissions-'));
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
  return { assembly, remove: () => rmSync(assembly, { recursive: true, force: true }) };
}

const MISSING: Record<string, (statement: Statement) => boolean> = {
  GETapihealth: ({ Action }) => Action === 'dynamodb:GetItem',
  POSTapiaccountchangepassword: ({ Action }) => Action === 'kms:GenerateMac',
  POSTapiutmintegrations: ({ Action }) => Action === 'dynamodb:ConditionCheckItem',
  MailFunction: ({ Action }) => Action === 'ses:SendEmail',
};

describe('a function that lacks a permission', () => {
  const stack = stackWith((file, statement) => !MISSING[file]?.(statement));
  let gatehouse: Gatehouse;
  let token: string;
  beforeAll(async () => {
    gatehouse = await startGatehouse({ assembly: stack.assembly });
    token = await gatehouse.logIn('admin');
  });
  afterAll(async () => {
    await gatehouse.stop();
    stack.remove();
  });

  async function request(method: string, path: string, body?: object): Promise<number> {
    const { status } = await fetch(`${gatehouse.cloud.url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return status;
  }

  it.each([
    [
      'GET',
      '/api/health',
      undefined,
      'is not authorized to perform dynamodb:GetItem on Table for FORMAT',
    ],
    [
      'POST',
      '/api/account/change-password',
      { currentPassword: 'admin', newPassword: 'another' },
      'is not authorized to perform kms:GenerateMac on PepperKey',
    ],
    [
      'POST',
      '/api/utm-integrations',
      { name: 'Gate logs', shortName: 'gate', integrationType: 'API' },
      'is not authorized to perform dynamodb:ConditionCheckItem on Table for USER',
    ],
  ])('responds to %s %s with 500 and logs the denial once', async (method, path, body, message) => {
    const before = gatehouse.lines.length;

    expect(await request(method, path, body)).toBe(500);

    const denial = `${method} ${path} ${message}`;
    expect(gatehouse.cloud.deniedCalls).toContain(denial);
    const lines = gatehouse.lines.slice(before);
    expect(lines).toContain(denial);
    expect(lines.filter((line) => line.includes('AccessDeniedException'))).toHaveLength(1);
  });

  it('sends no mail and logs the denial', async () => {
    const before = gatehouse.lines.length;

    await request('POST', '/api/account/reset-password/init', { email: 'admin@example.com' });
    await gatehouse.cloud.mailsHandedOver();

    const denial = 'sends mail is not authorized to perform ses:SendEmail on';
    const lines = gatehouse.lines.slice(before);
    expect(lines.find((line) => line.startsWith(denial))).toContain(
      'identity/gatehouse@example.com',
    );
    expect(lines.filter((line) => line.includes('AccessDeniedException'))).toHaveLength(1);
  });
});
