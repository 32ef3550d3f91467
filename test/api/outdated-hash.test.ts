import { expect, it } from 'vitest';
import { entityKey } from '../../lib/table/keys.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { openSetup } from '../support/instance/setup.ts';

const gatehouse = await useGatehouse();

it('a login rehashes a password stored at a lower cost, and records its time', async () => {
  const setup = await openSetup(gatehouse);
  const { user, token } = await setup.account({ passwordHash: await setup.outdatedHash() });
  const stored = () => gatehouse.table.get(entityKey('USER', user.id));
  const before = await stored();

  await gatehouse.logIn(user.login, 'pass');
  const renewed = await stored();
  await gatehouse.logIn(user.login, 'pass');

  expect(renewed?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1,/);
  const { passwordHash, lastLogin } = (renewed ?? {}) as Record<string, unknown>;
  expect(renewed).toEqual({ ...before, passwordHash, lastLogin });
  expect((await stored())?.passwordHash).toBe(passwordHash);
  const change = await gatehouse.call('POST', '/api/account', {
    token,
    body: { firstName: 'Still' },
  });
  expect(change.status).toBe(200);
});
