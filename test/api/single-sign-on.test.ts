import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { logInForm, testProvider } from '../support/instance/provider.ts';

/* Log-ins with ID tokens of an identity provider. */

const gatehouse = await useGatehouse();
const provider = testProvider();
let admin: string;
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

const logIn = (claims: object) =>
  gatehouse.call('POST', '/api/oauth2/token', { body: logInForm(provider, { ...claims }) });
const account = async (token: string) =>
  (await gatehouse.call('GET', '/api/account', { token })).body;
const userOf = async (login: string) =>
  (await gatehouse.call('GET', `/api/users/${login}`, { token: admin })).body;

describe('a log-in with an ID token', () => {
  it('creates an account with the roles of its groups, and finds it again', async () => {
    const claims = { sub: 'anna', preferred_username: 'anna', groups: ['users', 'staff'] };

    const first = await logIn({ ...claims, email: 'anna@example.com', email_verified: true });
    const again = await logIn({ ...claims, preferred_username: 'renamed' });

    expect(first).toMatchObject({ status: 200, body: { token_type: 'Bearer' } });
    expect(await account(again.body.access_token)).toMatchObject({
      login: 'anna',
      email: 'anna@example.com',
      authorities: ['ROLE_USER'],
      createdBy: 'identity-provider',
    });
    const { issuer } = provider.issuer;
    expect(await userOf('anna')).toMatchObject({ identities: [{ issuer, subject: 'anna' }] });
    expect(await account(again.body.access_token)).toMatchObject({ identities: [issuer] });
  });

  it('grants and takes roles', async () => {
    const claims = { sub: 'ben', preferred_username: 'ben' };
    await logIn({ ...claims, groups: ['users', 'admins'] });

    const { body } = await logIn({ ...claims, groups: ['analysts'] });

    expect(await account(body.access_token)).toMatchObject({ authorities: ['ROLE_ANALYST'] });
  });
});

it('a preview shows the roles of groups alone, whatever the claim is called', async () => {
  const { issuer } = provider.issuer;
  const body = { issuer, groups: ['analysts', 'staff'] };
  const preview = await gatehouse.call('POST', '/api/issuers/preview', { token: admin, body });

  expect(preview.body).toMatchObject({ roles: ['ROLE_ANALYST'], account: null, created: false });
});
