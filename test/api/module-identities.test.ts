import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ModuleIdentity } from '../../lib/integrations/integration.ts';
import { credentialKey } from '../../lib/integrations/integration-items.ts';
import { hashOfIdentity } from '../../lib/modules/credential.ts';
import { commit } from '../../lib/table/change.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { EXISTS, set } from '../../lib/table/write.ts';
import { isOfRequest } from '../support/costs/consumed-units.ts';
import { useGatehouse, useSetup } from '../support/instance/gatehouse.ts';
import {
  idToken,
  JWT_BEARER,
  logInForm,
  makeProviderKey,
  platformToken,
  testProvider,
} from '../support/instance/provider.ts';

/* Modules that authenticate themselves with tokens of the platforms on which they run. */

const calls: string[] = [];
const gatehouse = await useGatehouse({
  intercept(call, forward) {
    if (isOfRequest(call)) calls.push(call.operation);
    return forward();
  },
});
const { table } = gatehouse;
const setup = useSetup(gatehouse);
const provider = testProvider();
const { issuer, audience } = provider.moduleIssuer;
const SUBJECT = 'repo:ORG/REPO:ref:refs/heads/main';
const MINUTE = 60;
let admin: string;
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});
beforeEach(() => {
  calls.length = 0;
});

const pathOf = (id: number) => `/api/utm-integrations/${id}/credentials`;
const create = (id: number, identity: object = { issuer, subject: SUBJECT }) =>
  gatehouse.call('POST', pathOf(id), { token: admin, body: { identity } });
const poll = (id: number, token: string) =>
  gatehouse.call('GET', `/api/utm-integrations/${id}/module`, { token });
const exchange = (clientId: string, assertion: string) =>
  gatehouse.call('POST', '/api/oauth2/token', {
    body: { grant_type: JWT_BEARER, client_id: clientId, assertion },
  });
const now = () => Math.floor(Date.now() / 1000);
const token = (claims: object = {}) => platformToken(provider, { sub: SUBJECT, ...claims });

/** The client id of a credential with an identity, of the module of a new integration. */
async function module(identity?: object) {
  const id = await setup.integration(0);
  const { body } = await create(id, identity);
  return { id, clientId: body.clientId as string };
}

const REFUSED = { status: 400, body: { error: 'invalid_grant' } };

describe('the identity of a module', () => {
  it('has no secret, is listed, and is exchanged for tokens of its integration', async () => {
    const id = await setup.integration(0);
    const { status, body } = await create(id);
    const assertion = token({ aud: [audience], iat: now() - 9 * MINUTE });

    const first = await exchange(body.clientId, assertion);
    calls.length = 0;
    const again = await exchange(body.clientId, assertion);

    expect([status, Object.keys(body)]).toEqual([201, ['clientId', 'expires']]);
    expect(first).toMatchObject({
      status: 200,
      body: { token_type: 'Bearer', expires_in: 900, scope: 'module' },
    });
    expect(calls).toEqual(['BatchGetItem']);
    expect((await poll(id, again.body.access_token)).status).toBe(200);
    const listed = await gatehouse.call('GET', pathOf(id), { token: admin });
    expect(listed.body).toMatchObject([
      { clientId: body.clientId, identity: { issuer, subject: SUBJECT, audience } },
    ]);
    expect(listed.body[0].lastUsed).not.toBeNull();
  });

  it('has another audience if the credential names it', async () => {
    const { clientId } = await module({ issuer, subject: SUBJECT, audience: 'tap' });

    expect(await exchange(clientId, token({ aud: 'tap' }))).toMatchObject({ status: 200 });
    expect(await exchange(clientId, token())).toMatchObject(REFUSED);
  });

  it('gets a token of its own integration where two have the same', async () => {
    const [one, other] = [await module(), await module()];
    const assertion = token();

    const { body: ofOne } = await exchange(one.clientId, assertion);
    const { body: ofOther } = await exchange(other.clientId, assertion);

    expect((await poll(one.id, ofOne.access_token)).status).toBe(200);
    expect((await poll(other.id, ofOther.access_token)).status).toBe(200);
    expect((await poll(one.id, ofOther.access_token)).status).toBe(403);
  });

  it('must be of an issuer in the settings for modules', async () => {
    const id = await setup.integration(0);
    const fields = async (identity: object) =>
      (await create(id, identity)).body.fieldErrors.map(({ field }: { field: string }) => field);
    const elsewhere = await create(id, { issuer: 'https://elsewhere.example', subject: SUBJECT });

    expect(elsewhere.body.fieldErrors).toMatchObject([
      { field: 'identity.issuer', reason: expect.stringContaining('moduleIssuers') },
    ]);
    expect(await fields({ issuer: provider.issuer.issuer, subject: SUBJECT })).toEqual([
      'identity.issuer',
    ]);
    expect(await fields({ issuer, subject: 'ü' })).toEqual(['identity.subject']);
    const issuers = await gatehouse.call('GET', '/api/module-issuers', { token: admin });
    expect(issuers.body).toEqual([{ issuer, audience }]);
  });
});

describe('a token of a platform is refused', () => {
  const { key } = makeProviderKey(provider.key.kid);

  it.each<[string, string, () => string]>([
    ['of another branch', 'subject', () => token({ sub: 'repo:ORG/REPO:ref:refs/heads/next' })],
    [
      'of another repository',
      'subject',
      () => token({ sub: 'repo:ORG/OTHER:ref:refs/heads/main' }),
    ],
    ['of a subject in other letters', 'subject', () => token({ sub: SUBJECT.toLowerCase() })],
    ['of another issuer', 'issuer', () => token({ iss: provider.issuer.issuer })],
    ['of an unknown issuer', 'issuer', () => token({ iss: `${issuer}/` })],
    ['for another audience', 'audience', () => token({ aud: 'gatehouse' })],
    ['for another audience as well', 'audience', () => token({ aud: [audience, 'gatehouse'] })],
    ['that has expired', 'age', () => token({ exp: now() - MINUTE })],
    ['that was issued eleven minutes ago', 'age', () => token({ iat: now() - 11 * MINUTE })],
    ['that has no time of issue', 'age', () => token({ iat: undefined })],
    [
      'with the signature of another key',
      'signature',
      () => platformToken({ ...provider, key }, { sub: SUBJECT }),
    ],
    ['that is an ID token of a person', 'issuer', () => idToken(provider, { sub: SUBJECT })],
  ])('%s', async (_, reason, assertion) => {
    const { clientId } = await module();

    calls.length = 0;
    const refused = await exchange(clientId, assertion());

    expect(refused).toMatchObject(REFUSED);
    // It is counted against its source, as a wrong secret is.
    expect(calls).toContain('UpdateItem');
    expect((await gatehouse.lineOf(refused)).reason).toBe(reason);
  });

  it('with the client id of a credential that has a secret, or does not exist', async () => {
    const { clientId } = await setup.module(await setup.integration(0));

    expect(await exchange(clientId, token())).toMatchObject(REFUSED);
    expect(await exchange('module-999999-000000000000', token())).toMatchObject(REFUSED);
  });

  it('after its credential was deleted', async () => {
    const { id, clientId } = await module();
    const { body } = await exchange(clientId, token());
    await gatehouse.call('POST', `${pathOf(id)}/${clientId}/delete`, { token: admin });

    const refused = await exchange(clientId, token());

    expect(refused).toMatchObject(REFUSED);
    expect((await gatehouse.lineOf(refused)).reason).toBe('credential');
    expect((await poll(id, body.access_token)).status).toBe(401);
  });

  it('after its credential has expired', async () => {
    const { clientId } = await module();
    await commit(table, [set(credentialKey(clientId), { expires: now() - 1 }, EXISTS)]);

    expect(await exchange(clientId, token())).toMatchObject(REFUSED);
    await commit(table, [set(credentialKey(clientId), { expires: now() + MINUTE }, EXISTS)]);
  });

  const replaced = async (id: number, identity: ModuleIdentity) => {
    const key = entityKey('INTEGRATION', id);
    const [stored] = ((await table.get(key)) as { credentials?: object[] }).credentials ?? [];
    return set(key, { credentials: [{ ...stored, identity }] }, EXISTS);
  };

  it('for an identity that only its integration has', async () => {
    const { id, clientId } = await module({ issuer, subject: 'someone else' });
    await commit(table, [await replaced(id, { issuer, subject: SUBJECT, audience })]);

    expect(await exchange(clientId, token())).toMatchObject(REFUSED);
  });

  it('for an identity of another issuer with the same subject and audience', async () => {
    const { id, clientId } = await module();
    const identity = { issuer: 'https://former.example', subject: SUBJECT, audience };
    const hash = hashOfIdentity(identity);
    await commit(table, [
      await replaced(id, identity),
      set(credentialKey(clientId), { hash }, EXISTS),
    ]);

    for (const assertion of [token(), token({ iss: identity.issuer })]) {
      const refused = await exchange(clientId, assertion);
      expect(refused).toMatchObject(REFUSED);
      expect((await gatehouse.lineOf(refused)).reason).toBe('issuer');
    }
  });

  it('in place of an ID token, as is an ID token in place of it', async () => {
    const form = logInForm(provider, { sub: SUBJECT });
    const send = (body: object) => gatehouse.call('POST', '/api/oauth2/token', { body });
    const { clientId } = await module();
    const asPerson = logInForm(provider, { iss: issuer, aud: audience, sub: SUBJECT });
    const paula = { sub: 'paula', preferred_username: 'paula', groups: ['users'] };

    expect(await send({ ...form, client_id: clientId })).toMatchObject(REFUSED);
    expect(await send(asPerson)).toMatchObject(REFUSED);
    // The client of a person may name itself.
    const ofPerson = { ...logInForm(provider, paula), client_id: 'gatehouse' };
    expect((await send(ofPerson)).status).toBe(200);
  });
});
