import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { operatorsEnvironment, runCommand } from '../support/commands/run-command.ts';
import { type Gatehouse, startGatehouse } from '../support/instance/gatehouse.ts';
import { assemblyOf, synthesizeInProcess } from '../support/stack/stack.ts';

/* The steps of docs/keys.md. */
describe('a replacement of the pepper key', () => {
  let gatehouse: Gatehouse;
  beforeAll(async () => {
    gatehouse = await startGatehouse();
    for (const login of ['eager', 'late', 'absent']) await gatehouse.makeUser(login);
  });
  afterAll(() => gatehouse.stop());

  const keyId = () => gatehouse.cloud.pepperKeys[0]?.split('/').at(-1);
  const keyOf = async (login: string) =>
    /keyid=([\w-]+)/.exec((await findUserByLogin(gatehouse.table, login))?.passwordHash ?? '')?.[1];
  const logIn = (username: string, password = username.padEnd(4, '.')) =>
    gatehouse.call('POST', '/api/authenticate', { body: { username, password } });

  async function deploy(pepperKeys: string[]): Promise<void> {
    synthesizeInProcess('dev', { pepperKeys });
    await gatehouse.cloud.redeploy(assemblyOf('dev', { pepperKeys }));
  }

  /** The status and the lines of `npm run admin -- password-keys`. */
  async function count(): Promise<[status: number, ...lines: string[]]> {
    const { cloud } = gatehouse;
    const options = ['--table', cloud.tableName];
    const { code, stdout, stderr } = await runCommand(
      'password-keys',
      options,
      operatorsEnvironment(cloud),
    );
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

  it('accepts a password under the old key when it is changed', async () => {
    const { body } = await logIn('late');
    const passwords = { currentPassword: 'late', newPassword: 'later' };
    const changed = await gatehouse.call('POST', '/api/account/change-password', {
      token: body.id_token,
      body: passwords,
    });

    expect(changed.status).toBe(200);
    expect(await keyOf('late')).toBe(second);
    expect((await logIn('late', 'later')).status).toBe(200);
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
