import type { ProtectedContract } from '../../lib/contract/contract.ts';
import { Failure } from '../../lib/contract/failure.ts';
import { respondToUsers } from '../../lib/http/endpoint.ts';
import type { Response } from '../../lib/http/response.ts';
import {
  type AuthorizedModule,
  authorizeModule,
  type ModuleCaller,
  refusedModules,
} from '../../lib/modules/module-caller.ts';
import { PARTITION } from '../../lib/operations/item-kinds.ts';
import type { PasswordPolicy } from '../../lib/passwords/password-policy.ts';
import type { Passwords } from '../../lib/passwords/passwords.ts';
import type { DeriveFactorSecrets } from '../../lib/second-factor/factor-secrets.ts';
import { codeOf, stepAt } from '../../lib/second-factor/totp.ts';
import type { SnapshotTable } from '../../lib/table/snapshot.ts';
import type { Table } from '../../lib/table/table.ts';
import type { LoginThrottle } from '../../lib/throttle/login-throttle.ts';
import type { AuthorizedCaller, Caller } from '../../lib/users/caller.ts';
import type { Session } from '../../lib/users/session-item.ts';
import type { User } from '../../lib/users/user.ts';
import { deployedRow, routes } from '../../routes.ts';
import { admitted } from '../support/doubles/rule-arguments.ts';
import { NOW } from './determinism.ts';
import type { Request } from './worlds.ts';

/* The rules as their functions open them, without what costs time or needs KMS. */

export const SOURCE = { address: '192.0.2.1', arrivedAt: NOW, userAgent: 'test' };

export const hashOfPassword = (password: string): string => `hash of ${password}`;
/** Before a hash that the next log-in replaces. */
export const OUTDATED = 'outdated ';
export const passwords: Passwords = {
  hash: async (password) => hashOfPassword(password),
  matches: async (password, hash) => hash?.replace(OUTDATED, '') === hashOfPassword(password),
  isOutdated: (hash) => hash.startsWith(OUTDATED),
};

export const policy: PasswordPolicy = {
  requireLength() {},
  requireUncommon(password, { login }) {
    if (password === login) throw new Failure('common-password');
  },
};

const totp = (userId: number, nonce: string): Buffer => Buffer.from(`${userId} ${nonce}`);
export const factorSecrets: DeriveFactorSecrets = async (userId, { nonce }) => ({
  key: 'factor-key',
  totp: totp(userId, nonce),
  recoveryCodes: (recoveryNonce) =>
    Array.from({ length: 10 }, (_, number) => recoveryCode(recoveryNonce, number)),
});
/** A recovery code under this nonce. */
export const recoveryCode = (recoveryNonce: string, number: number): string =>
  `${recoveryNonce.toUpperCase().replace(/[^A-Z2-7]/g, '')}AAAAAAA`.slice(0, 7) +
  'ABCDEFGHIJ'.charAt(number);
/** The present code of the factor of a user. */
export const presentCode = (userId: number, nonce: string): string =>
  codeOf(totp(userId, nonce), stepAt(NOW));

/** A token that says what its session depends on. */
export const sessionToken = async (
  { passwordChanges, sessionEndings }: User,
  { jti }: Session,
): Promise<string> => JSON.stringify({ jti, passwordChanges, sessionEndings });

/** A throttle that admits every attempt and counts none. */
export const throttleOf = (table: Table): LoginThrottle => ({
  attempt: async ({ alsoRead }, check) =>
    admitted(check, alsoRead ? await table.getAll(alsoRead) : []),
  async begin(_kind, _source, keys = []) {
    return { items: keys.length > 0 ? await table.getAll(keys) : [], count: async () => {} };
  },
  keysOf: async (login) =>
    ({
      network: { pk: `ATTEMPTS#${login}`, sk: 'NETWORK#n' },
      elsewhere: { pk: `ATTEMPTS#${login}`, sk: 'ELSEWHERE' },
      recovery: { pk: `ATTEMPTS#${login}`, sk: 'RECOVERY' },
    }) as never,
});

/** A request of a caller to the row with this handler. */
export function requestBy(
  name: string,
  handler: string,
  caller: Caller,
  handle: (table: SnapshotTable, caller: AuthorizedCaller) => Promise<unknown>,
): Request {
  const { contract, writes } = rowOf(handler);
  return {
    name,
    handler,
    caller,
    access: contract.access,
    writes,
    run: (table) =>
      respondToUsers(
        table,
        contract as ProtectedContract,
        async (request) => (await handle(table, request.caller)) as Response,
      )(() => ({}) as never, caller, SOURCE.address),
  };
}

/** A request of the module of an integration to the row with this handler. */
export function moduleRequest(
  name: string,
  handler: string,
  module: ModuleCaller,
  handle: (table: SnapshotTable, module: AuthorizedModule) => Promise<unknown>,
): Request {
  const { integrationId } = module;
  const request = publicRequest(name, handler, async (table) => {
    const from = { ...module, source: SOURCE.address };
    return handle(table, await authorizeModule(table, from, integrationId, refusedModules()));
  });
  return { ...request, module };
}

/** A request without a caller. */
export function publicRequest(
  name: string,
  handler: string,
  handle: (table: SnapshotTable) => Promise<unknown>,
): Request {
  return { name, handler, writes: rowOf(handler).writes, run: handle };
}

function rowOf(handler: string) {
  const row = routes.find((each) => each.handler === handler);
  if (!row) throw new Error(`No row has the handler ${handler}`);
  const { permissions } = deployedRow(row, { issuers: true, moduleIssuers: true });
  const { put, update, updateUser, updateSession, delete: deleted } = permissions;
  const { updateOutsideTransaction } = permissions;
  const users = updateUser && [PARTITION.user];
  const sessions = updateSession && [PARTITION.session];
  const writes = [put, update, users, sessions, deleted, updateOutsideTransaction].flatMap(
    (each) => each ?? [],
  );
  return { contract: row.contract, writes };
}
