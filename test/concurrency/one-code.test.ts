import { expect, it, vi } from 'vitest';
import { logIn } from '../../lib/accounts/log-in.ts';
import { setDeadline } from '../../lib/runtime/deadline.ts';
import { codeOf, stepAt } from '../../lib/second-factor/totp.ts';
import { sessionsPartition } from '../../lib/sessions/session-item.ts';
import type { LoginThrottle } from '../../lib/throttle/login-throttle.ts';
import { loginGuardKey } from '../../lib/users/user-items.ts';
import { admitted } from '../support/doubles/admitted.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { openSetup } from '../support/instance/setup.ts';

/*
 * Many log-ins with one code at the same time: all have verified it before the first one commits.
 * The throttle would reject most of them, and the hashes would take minutes, so both are replaced.
 */

const LOGINS = 100;
/** As long as the test may take. */
const DEADLINE_MS = 300_000;

const gatehouse = await useGatehouse();
const { table } = gatehouse;

/** A throttle that admits every attempt. */
const throttle = {
  attempt: async ({ login }, check) => admitted(check, [await table.get(loginGuardKey(login))]),
} as LoginThrottle;

it.each(['a code of a time step', 'a recovery code'])(
  `one of ${LOGINS} log-ins with %s succeeds`,
  { timeout: DEADLINE_MS },
  async (kind) => {
    for (const name of ['TOKEN_SECONDS', 'REMEMBERED_TOKEN_SECONDS']) vi.stubEnv(name, '3600');
    const setup = await openSetup(gatehouse);
    const { user } = await setup.account();
    const { secrets, recoveryCodes } = await setup.secondFactor(user);
    const code =
      kind === 'a recovery code'
        ? (recoveryCodes[3] as string)
        : codeOf(secrets.totp, stepAt(Date.now()));
    let waiting = LOGINS;
    const { promise: allHaveVerified, resolve: release } = Promise.withResolvers<void>();
    const services = {
      table,
      throttle,
      requirement: undefined,
      passwords: {
        matches: async () => true,
        isOutdated: () => false,
        hash: async () => 'not used',
      },
      factorSecrets: async () => secrets,
      async issueToken() {
        if (--waiting === 0) release();
        await allHaveVerified;
        return 'a token';
      },
    };
    const credentials = { username: user.login, password: 'pass', code, rememberMe: false };
    const source = { address: '198.51.100.7', arrivedAt: Date.now(), userAgent: undefined };

    const outcomes = await Promise.all(
      Array.from({ length: LOGINS }, () => {
        setDeadline(DEADLINE_MS);
        return logIn(services, source, credentials).then(
          () => 'logged in',
          (error) => error.code as string,
        );
      }),
    );

    const counts = Object.groupBy(outcomes, (outcome) => outcome);
    expect(counts['logged in']).toHaveLength(1);
    // Those that lose the race again and again give up.
    const { 'logged in': _, ...others } = counts;
    expect(['bad-credentials', 'unavailable']).toEqual(expect.arrayContaining(Object.keys(others)));
    const sessions = await table.query(sessionsPartition(user.id));
    expect(sessions).toHaveLength(1);
  },
);
