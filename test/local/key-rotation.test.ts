import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { remove } from '../../lib/table/write.ts';
import { publicKeyItemKey } from '../../lib/tokens/token.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { runOnTable } from '../support/commands/run-command.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import type { Gatehouse } from '../support/instance/launch.ts';
import { decode } from '../support/instance/mint.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/** Without identity providers: a function that fetches their keys could be denied meanwhile. */
const STACK = { assembly: assemblyWith('dev'), checksPermissions: true };

/* The steps of docs/keys.md. */
describe('a rotation of the signing key', () => {
  let gatehouse: Gatehouse;
  /** The key ids of all GetPublicKey calls, and the key that is disabled in KMS. */
  const requestedKeys: unknown[] = [];
  let disabledKey: unknown;
  beforeAll(async () => {
    gatehouse = await startGatehouse({
      ...STACK,
      async intercept({ operation, input }, forward) {
        if (operation === 'GetPublicKey') requestedKeys.push(input.KeyId);
        const disabled = operation === 'GetPublicKey' && input.KeyId === disabledKey;
        return disabled
          ? { status: 400, body: { __type: 'DisabledException', message: 'It is disabled' } }
          : forward();
      },
    });
    first = await gatehouse.logIn('admin');
  });
  afterAll(async () => {
    // An instance of the former deployment may still request the key after its permission is
    // removed, but nothing else.
    const denied = gatehouse.cloud.deniedCalls.splice(0);
    expect(denied.filter((call) => !call.endsWith(`kms:GetPublicKey on ${disabledKey}`))).toEqual(
      [],
    );
    await gatehouse.stop();
  });

  const kidOf = (token: string) => decode(token.split('.')[0]).kid as string;
  const published = async () => {
    const { body } = await gatehouse.call('GET', '/.well-known/jwks.json');
    return body.keys.map(({ kid }: { kid: string }) => kid);
  };
  const use = async (token: string) => {
    const responses = await Promise.all(
      ['/api/account', '/api/users'].map((path) => gatehouse.call('GET', path, { token })),
    );
    return responses.map(({ status }) => status);
  };

  /** Deploys these keys while a client logs in and uses its tokens: nothing may be rejected. */
  async function deploy(signingKeys: string[], tokens: string[] = []): Promise<void> {
    const assembly = assemblyWith('dev', { signingKeys });
    let deployed = false;
    const client = async () => {
      for (let last = false; !last; ) {
        last = deployed;
        for (const token of [...tokens, await gatehouse.logIn('user')])
          expect(await use(token)).toEqual([200, 200]);
      }
    };
    const clients = [client()];
    await gatehouse.cloud.redeploy(assembly);
    deployed = true;
    await Promise.all(clients);
  }

  let first: string;
  let second: string;

  it('publishes both keys once both are configured, while the old one still signs', async () => {
    await deploy(['SigningKey', 'SigningKey2'], [first]);

    const token = await gatehouse.logIn('admin');
    expect(kidOf(token)).toBe(kidOf(first));
    expect(await published()).toHaveLength(2);
  });

  it('signs with the new key once it is first, and accepts tokens of the old one', async () => {
    await deploy(['SigningKey2', 'SigningKey'], [first]);

    second = await gatehouse.logIn('admin');
    expect(kidOf(second)).not.toBe(kidOf(first));
    expect((await published()).sort()).toEqual([kidOf(first), kidOf(second)].sort());
    expect(await use(first)).toEqual([200, 200]);
  });

  it('does not prevent logins when the old key is disabled but configured', async () => {
    disabledKey = requestedKeys[0];
    const before = requestedKeys.length;

    gatehouse.cloud.recycle();

    expect(kidOf(await gatehouse.logIn('admin'))).toBe(kidOf(second));
    expect(requestedKeys.slice(before)).toContain(disabledKey);
  });

  it('accepts tokens of the old key until its item is deleted', async () => {
    await deploy(['SigningKey2'], [first, second]);
    await commit(gatehouse.table, [remove(publicKeyItemKey(kidOf(first)))]);

    gatehouse.cloud.recycle();

    expect(await use(first)).toEqual([401, 401]);
    expect(await use(second)).toEqual([200, 200]);
    expect(kidOf(await gatehouse.logIn('admin'))).toBe(kidOf(second));
    expect(await published()).toEqual([kidOf(second)]);
  });
});

describe('a replacement of the pepper key', () => {
  let gatehouse: Gatehouse;
  beforeAll(async () => {
    gatehouse = await startGatehouse(STACK);
    for (const login of ['eager', 'late', 'absent']) await gatehouse.makeUser(login);
  });
  afterAll(() => gatehouse.stop());

  const keyId = () => gatehouse.cloud.pepperKeys[0]?.split('/').at(-1);
  const keyOf = async (login: string) =>
    /keyid=([\w-]+)/.exec((await findUserByLogin(gatehouse.table, login))?.passwordHash ?? '')?.[1];
  const logIn = (username: string, password = username.padEnd(4, '.')) =>
    gatehouse.call('POST', '/api/authenticate', { body: { username, password } });

  const deploy = (pepperKeys: string[]) =>
    gatehouse.cloud.redeploy(assemblyWith('dev', { pepperKeys }));

  async function count(): Promise<[status: number, ...lines: string[]]> {
    const { code, stdout, stderr } = await runOnTable(gatehouse.cloud, 'password-keys');
    expect(stderr).toBe('');
    return [Number(code), ...stdout.trimEnd().split('\n').slice(1)];
  }

  let first: string | undefined;
  let second: string | undefined;

  it('changes nothing while the new key is only the second one', async () => {
    first = keyId();
    await deploy(['PepperKey', 'PepperKey2']);

    expect((await logIn('eager')).status).toBe(200);
    expect(await keyOf('eager')).toBe(first);
    expect(await count()).toEqual([
      0,
      `5 under the key ${first}, the first one`,
      expect.stringMatching(/^0 under the/),
    ]);
  });

  it('rehashes each password at its next login once the new key is the first one', async () => {
    await deploy(['PepperKey2', 'PepperKey']);
    second = keyId();

    expect(second).not.toBe(first);
    expect((await logIn('eager', 'wrong')).status).toBe(401);
    expect(await keyOf('eager')).toBe(first);
    expect((await logIn('eager')).status).toBe(200);
    expect(await keyOf('eager')).toBe(second);
    expect((await logIn('eager')).status).toBe(200);
    await gatehouse.makeUser('newcomer');
    expect(await keyOf('newcomer')).toBe(second);
    expect(await count()).toEqual([
      1,
      `2 under the key ${second}, the first one`,
      `4 under the key ${first}`,
    ]);
  });

  it('rejects a password under the old key after its removal, until it is reset', async () => {
    await deploy(['PepperKey2']);

    const [rejected, lines] = await Promise.all([
      logIn('absent'),
      count(),
      gatehouse.call('POST', '/api/account/reset-password/init', {
        body: { email: 'absent@example.com' },
      }),
    ]);
    const key = await gatehouse.keyMailedTo('absent@example.com');
    const reset = { key, newPassword: 'present' };
    const finished = await gatehouse.call('POST', '/api/account/reset-password/finish', {
      body: reset,
    });

    expect([rejected.status, rejected.body.message]).toEqual([
      401,
      (await logIn('nobody')).body.message,
    ]);
    expect(lines).toEqual([
      1,
      expect.stringMatching(`under the key ${second}, the first one$`),
      expect.stringMatching(
        `under the key ${first}, which the stack does not have: these users must reset`,
      ),
    ]);
    expect(finished.status).toBe(200);
    expect((await logIn('absent', 'present')).status).toBe(200);
    expect((await logIn('eager')).status).toBe(200);
  });
});
