import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commit } from '../lib/table/change.ts';
import { signingKeyKey } from '../lib/table/keys.ts';
import { remove } from '../lib/table/write.ts';
import { type Gatehouse, startGatehouse } from './support/gatehouse.ts';
import { decode } from './support/mint.ts';
import { assemblyOf, synthesizeHere } from './support/stack.ts';

/* One key of tokens takes over from another, in the steps of docs/operating.md. */
describe('one key of tokens takes over from another', () => {
  let gatehouse: Gatehouse;
  /** The keys that the login has asked KMS for, and one that KMS gives to nobody any more. */
  const asked: unknown[] = [];
  let outOfUse: unknown;
  beforeAll(async () => {
    gatehouse = await startGatehouse({
      async intercept({ operation, input }, make) {
        if (operation === 'GetPublicKey') asked.push(input.KeyId);
        const refused = operation === 'GetPublicKey' && input.KeyId === outOfUse;
        return refused ? { status: 400, body: { __type: 'DisabledException', message: 'It is disabled' } } : make();
      },
    });
    first = await gatehouse.logIn('admin');
  });
  afterAll(async () => {
    // A login that is just starting as it was deployed before asks for a key whose right has gone: that, and no more.
    const refused = gatehouse.cloud.deniedCalls.splice(0);
    expect(refused.filter((call) => !call.endsWith(`kms:GetPublicKey on ${outOfUse}`))).toEqual([]);
    await gatehouse.stop();
  });

  const kidOf = (token: string) => decode(token.split('.')[0]).kid as string;
  const published = async () => {
    const { body } = await gatehouse.call('GET', '/.well-known/jwks.json');
    return body.keys.map(({ kid }: { kid: string }) => kid);
  };
  const use = async (token: string) => {
    const answers = await Promise.all(
      ['/api/account', '/api/users'].map((path) => gatehouse.call('GET', path, { token })),
    );
    return answers.map(({ status }) => status);
  };

  /** Deploys with these keys, while clients go on logging in and using what tokens they have: none may be refused. */
  async function deploy(signingKeys: string[], tokens: string[] = []): Promise<void> {
    synthesizeHere('dev', { signingKeys });
    let deployed = false;
    const client = async () => {
      for (let last = false; !last; ) {
        last = deployed;
        for (const token of [...tokens, await gatehouse.logIn('user')]) expect(await use(token)).toEqual([200, 200]);
      }
    };
    const clients = [client()];
    await gatehouse.cloud.redeploy(assemblyOf('dev', { signingKeys }));
    deployed = true;
    await Promise.all(clients);
  }

  let first: string;
  let second: string;

  it('as soon as both are named, both are published, and the old one signs', async () => {
    await deploy(['SigningKey', 'SigningKey2'], [first]);

    const token = await gatehouse.logIn('admin');
    expect(kidOf(token)).toBe(kidOf(first));
    expect(await published()).toHaveLength(2);
  }, 60_000);

  it('when the new one is named first it signs, and tokens of the old one go on', async () => {
    await deploy(['SigningKey2', 'SigningKey'], [first]);

    second = await gatehouse.logIn('admin');
    expect(kidOf(second)).not.toBe(kidOf(first));
    expect((await published()).sort()).toEqual([kidOf(first), kidOf(second)].sort());
    expect(await use(first)).toEqual([200, 200]);
  }, 60_000);

  it('the old one may be switched off, or the right to it be gone before its name: nobody is kept from logging in', async () => {
    outOfUse = asked[0];
    const before = asked.length;

    gatehouse.cloud.recycle();

    expect(kidOf(await gatehouse.logIn('admin'))).toBe(kidOf(second));
    expect(asked.slice(before)).toContain(outOfUse);
  });

  it('when only the new one is named, tokens of the old one go on until its item is gone, and it stays gone', async () => {
    await deploy(['SigningKey2'], [first, second]);
    const gone = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;
    await commit(gatehouse.table, [remove(signingKeyKey(kidOf(first)), gone)]);

    gatehouse.cloud.recycle();

    expect(await use(first)).toEqual([401, 401]);
    expect(await use(second)).toEqual([200, 200]);
    expect(kidOf(await gatehouse.logIn('admin'))).toBe(kidOf(second));
    expect(await published()).toEqual([kidOf(second)]);
  }, 60_000);
});
