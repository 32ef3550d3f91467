import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { remove } from '../../lib/table/write.ts';
import { publicKeyItemKey } from '../../lib/tokens/key-set.ts';
import { type Gatehouse, startGatehouse } from '../support/instance/gatehouse.ts';
import { decode } from '../support/instance/mint.ts';
import { assemblyOf, synthesizeInProcess } from '../support/stack/stack.ts';

/* The steps of docs/keys.md. */
describe('a rotation of the signing key', () => {
  let gatehouse: Gatehouse;
  /** The key ids of all GetPublicKey calls, and the key that is disabled in KMS. */
  const requestedKeys: unknown[] = [];
  let disabledKey: unknown;
  beforeAll(async () => {
    gatehouse = await startGatehouse({
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

  /**
   * Deploys these keys while a client keeps logging in and using its tokens: no request may be
   * rejected.
   */
  async function deploy(signingKeys: string[], tokens: string[] = []): Promise<void> {
    synthesizeInProcess('dev', { signingKeys });
    let deployed = false;
    const client = async () => {
      for (let last = false; !last; ) {
        last = deployed;
        for (const token of [...tokens, await gatehouse.logIn('user')])
          expect(await use(token)).toEqual([200, 200]);
      }
    };
    const clients = [client()];
    await gatehouse.cloud.redeploy(assemblyOf('dev', { signingKeys }));
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
    const gone = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;
    await commit(gatehouse.table, [remove(publicKeyItemKey(kidOf(first)), gone)]);

    gatehouse.cloud.recycle();

    expect(await use(first)).toEqual([401, 401]);
    expect(await use(second)).toEqual([200, 200]);
    expect(kidOf(await gatehouse.logIn('admin'))).toBe(kidOf(second));
    expect(await published()).toEqual([kidOf(second)]);
  });
});
