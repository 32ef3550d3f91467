import { expect, it } from 'vitest';
import {
  confirmFactor,
  disableFactor,
  replaceRecoveryCodes,
  requestFactor,
} from '../../lib/accounts/second-factor.ts';
import { authorize } from '../../lib/authorization/authorize.ts';
import { codeOf, stepAt } from '../../lib/second-factor/totp.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { put } from '../../lib/table/write.ts';
import type { LoginThrottle } from '../../lib/throttle/login-throttle.ts';
import type { AuthorizedCaller } from '../../lib/users/authorized-caller.ts';
import type { User } from '../../lib/users/user.ts';
import { admitted } from '../support/doubles/admitted.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';
import { storedSession } from '../support/doubles/stored-session.ts';
import { storedUser } from '../support/doubles/stored-user.ts';

/* What a change of a second factor decides after another request has changed the user. */

const NOW = Date.UTC(2030, 0, 1);
const STEP = stepAt(NOW);
useFrozenClock(NOW, { AUDIT_DAYS: '400', TOKEN_ISSUER: 'gatehouse-test' });

const SECRETS = { key: 'k', totp: Buffer.alloc(20), recoveryCodes: () => [] };
const CODE = codeOf(SECRETS.totp, STEP);
const PROOF = { currentPassword: 'pass', code: CODE };
const SOURCE = { address: '203.0.113.7', arrivedAt: NOW };
const FACTOR = { nonce: 'n', key: 'k', lastStep: 0, recoveryNonce: 'r', recoveryCodes: 1 };
const PENDING = { nonce: 'n', session: 'mine', expires: NOW / 1000 + 60 };

/** A throttle that admits every attempt. */
const throttle = { attempt: (_, check) => admitted(check) } as LoginThrottle;
const services = {
  throttle,
  factorSecrets: async () => SECRETS,
  passwords: { matches: async () => true, isOutdated: () => false, hash: async () => 'none' },
};

type Change = (caller: AuthorizedCaller) => Promise<unknown>;
const request: Change = (caller) => requestFactor(services, caller, SOURCE, 'pass');
const confirm: Change = (caller) => confirmFactor(services, caller, SOURCE, CODE);
const disable: Change = (caller) => disableFactor(services, caller, SOURCE, PROOF);
const replace: Change = (caller) => replaceRecoveryCodes(services, caller, SOURCE, PROOF);

const ON = { secondFactor: FACTOR };
const USED = { secondFactor: { ...FACTOR, lastStep: STEP } };
const ANOTHER = { secondFactor: { ...FACTOR, nonce: 'm' } };
// The session of the request stays, as with its own change of the password.
const NEW_PASSWORD = { passwordChanges: 1, tokenExcepted: 'mine' };

it.each<[string, Change, Partial<User>, Partial<User>, string]>([
  ['a request', request, {}, ON, 'second-factor-on'],
  ['a request', request, {}, NEW_PASSWORD, 'wrong-password'],
  ['a confirmation', confirm, { pendingFactor: PENDING }, ON, 'wrong-code'],
  [
    'a confirmation',
    confirm,
    { pendingFactor: PENDING },
    { pendingFactor: { ...PENDING, nonce: 'm' } },
    'wrong-code',
  ],
  ['turning it off', disable, ON, {}, 'wrong-code'],
  ['turning it off', disable, ON, USED, 'wrong-code'],
  ['turning it off', disable, ON, ANOTHER, 'wrong-code'],
  ['turning it off', disable, ON, { ...ON, ...NEW_PASSWORD }, 'wrong-password'],
  ['new recovery codes', replace, ON, USED, 'wrong-code'],
  ['new recovery codes', replace, ON, ANOTHER, 'wrong-code'],
])('%s changes nothing after another change: %#', async (_, change, before, meanwhile, code) => {
  const user = storedUser(7, 'ada', { passwordChanges: 0 });
  const key = entityKey('USER', 7);
  const table = memoryTable([{ ...key, ...user, ...before }]);
  table.concurrent.push([put(key, { ...user, ...meanwhile })]);
  const session = storedSession(user, { jti: 'mine', expires: NOW / 1000 + 60 });
  const caller = authorize(table, { ...session, id: 7, source: '192.0.2.1' }, 'enrolling');

  await expect(change(caller)).rejects.toMatchObject({ code });
  expect(table.find(key)).toEqual({ ...key, ...user, ...meanwhile });
});
