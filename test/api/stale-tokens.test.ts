import { beforeAll, describe, expect, it } from 'vitest';
import { authorize } from '../../lib/authorization/authorize.ts';
import { endSessionsOf } from '../../lib/sessions/sessions.ts';
import { commit } from '../../lib/table/change.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { set } from '../../lib/table/write.ts';
import type { AuthorizedCaller } from '../../lib/users/authorized-caller.ts';
import { passwordChange } from '../../lib/users/credential-table.ts';
import { deleteUser } from '../../lib/users/delete-user.ts';
import { updateUser } from '../../lib/users/update-user.ts';
import type { User } from '../../lib/users/user.ts';
import { UpdateUser } from '../../lib/users/user-contracts.ts';
import { findUser } from '../../lib/users/user-table.ts';
import { routes } from '../../routes.ts';
import { CHANGES } from '../support/instance/example-requests.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { openMeanwhile } from '../support/instance/meanwhile.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';

/*
 * Authorization must hold at commit, not only at load (TOCTOU, CWE-367). Every change is held
 * between load and commit while its caller loses the right to make it.
 */

const meanwhile = openMeanwhile();
const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    await meanwhile.before(call);
    return forward();
  },
});
let setup: Setup;
beforeAll(async () => {
  setup = await openSetup(gatehouse);
  const { incarnation } = (await findUser(gatehouse.table, 1)) as User;
  const claims = {
    id: 1,
    incarnation,
    jti: 'operator',
    expires: 0,
    passwordChanges: 0,
    sessionEndings: 0,
    source: '127.0.0.1',
  } as const;
  admin = authorize(gatehouse.table, claims, UpdateUser.access);
});

let admin: AuthorizedCaller;
const change = (fields: Partial<User>) => (user: User) =>
  updateUser(
    gatehouse.table,
    admin,
    { ...user, ...fields, authorities: [...(fields.authorities ?? user.authorities)] },
    undefined,
  );

const REVOCATIONS: Record<string, (user: User, token: string) => Promise<unknown>> = {
  demoted: change({ authorities: ['ROLE_ANALYST'] }),
  deactivated: change({ activated: false }),
  deleted: (user) => deleteUser(gatehouse.table, admin, user.login, undefined),
  'replaced by another account with the same id': async (user) => {
    const always = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;
    const another = set(entityKey('USER', user.id), { incarnation: 'another' }, always);
    expect(await commit(gatehouse.table, [another])).toBe('committed');
  },
  'given another password elsewhere': async (user) => {
    expect(await commit(gatehouse.table, [passwordChange(user, 'another')])).toBe('committed');
  },
  'logged out': async (_, token) => {
    expect((await gatehouse.call('POST', '/api/logout', { token })).status).toBe(200);
  },
  'logged out everywhere by an administrator': (user) =>
    endSessionsOf(gatehouse.table, admin, user.login),
};

const byToken = CHANGES.filter(
  ({ route }) => routes.find((row) => row.route === route)?.contract.access !== 'public',
);

describe.each(Object.entries(REVOCATIONS))(
  'a caller who is %s between load and commit',
  (revocation, revoke) => {
    it.each(byToken)(
      'cannot make a change that requires the lost right: $route',
      async ({ route, access, success, prepare }) => {
        const { user: item, request, send, countChanges } = await prepare(setup);
        const id = Number(item.split('/')[1]);
        const user = (await findUser(gatehouse.table, id)) as User;

        const { status } = await meanwhile.during(
          send,
          () => revoke(user, request.token as string),
          ({ functionName }) => functionName === route,
        );

        const isDemoted = revocation === 'demoted';
        const isStillAllowed = isDemoted && typeof access === 'string';
        // Logging out succeeds as well when the session has ended already.
        const isServed = isStillAllowed || access === 'issued-token';
        expect(status).toBe(isServed ? success : isDemoted ? 403 : 401);
        if (isStillAllowed) return;
        const after = await findUser(gatehouse.table, id);
        // The caller has made the request that logs out.
        expect(await countChanges()).toBe(revocation === 'logged out' ? 1 : 0);
        expect([user.passwordHash, 'another', undefined]).toContain(after?.passwordHash);
        expect(after?.firstName).toBeUndefined();
      },
    );
  },
);
