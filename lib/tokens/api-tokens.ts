import { Failure } from '../contract/failure.ts';
import { notified } from '../mail/outbox.ts';
import { requireEnv } from '../runtime/execution-environment.ts';
import { settleAll } from '../runtime/waiting.ts';
import { entityKey } from '../table/keys.ts';
import { readBudget } from '../table/read-budget.ts';
import type { Table } from '../table/table.ts';
import { attributesAre, put, remove, set } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { type ApiToken, apiTokenKey, apiTokenOf } from '../users/session-item.ts';
import { activeTokens, type ListedToken, type User } from '../users/user.ts';
import { auditEventFor, findUserByLogin } from '../users/user-table.ts';
import { findTokenUses, newApiToken, newTokenSeries } from './api-token.ts';
import type { NewToken } from './api-token-contracts.ts';
import { expiryOf, hashOfSecret } from './secret.ts';

/** An API token as its owner sees it. */
interface ShownToken {
  readonly series: string;
  readonly name: string;
  readonly scopes: ApiToken['scopes'];
  readonly createdDate: string;
  readonly expires: string;
}

const shown = ({ series, name, scopes, createdDate, expires }: ApiToken): ShownToken => ({
  series,
  name,
  scopes,
  createdDate,
  expires: new Date(expires * 1000).toISOString(),
});

/** The limits of the environment. */
export const openTokenLimits = () => ({
  daysMax: Number(requireEnv('API_TOKEN_DAYS_MAX')),
  tokensMax: Number(requireEnv('API_TOKENS_MAX')),
});

/**
 * Creates an API token of the caller, and notifies the caller by mail. The token is in the result
 * only. Fails with too-many-tokens, and with invalid for a time that has passed or lies further
 * ahead than `daysMax`.
 */
export function createToken(
  caller: AuthorizedCaller,
  { name, scopes, expires: wanted }: NewToken,
  { daysMax, tokensMax }: ReturnType<typeof openTokenLimits>,
): Promise<ShownToken & { readonly token: string }> {
  const series = newTokenSeries(Date.now());
  const token = newApiToken(caller.id, series);
  return caller.change({
    decide({ callerUser, now }) {
      const expires = Math.ceil(expiryOf(wanted, daysMax, now) / 1000);
      const others = activeTokens(callerUser, now);
      if (others.length >= tokensMax) throw new Failure('too-many-tokens');
      const created: ApiToken = {
        series,
        userId: caller.id,
        hash: hashOfSecret(token),
        name,
        scopes,
        createdDate: new Date(now).toISOString(),
        expires,
      };
      return {
        writes: [
          tokensChanged(callerUser, [...others, { series, expires }]),
          put(apiTokenKey(series), { ...created }),
          notified('tokenCreated', callerUser, now),
        ],
        result: { ...shown(created), token },
        event: auditEventFor('token.created', callerUser, [
          { field: 'tokens', added: [series] },
          { field: 'name', to: name },
          { field: 'scopes', added: scopes },
        ]),
      };
    },
  });
}

/** Lists the caller's API tokens that have not expired. Fails with read-budget-spent. */
export const listTokens = (table: Table, caller: AuthorizedCaller) =>
  listOf(table, caller, () => caller.findUser());

/** Lists the API tokens of the user with this login. Fails as `listTokens` and with not-found. */
export function listTokensOf(table: Table, caller: AuthorizedCaller, login: string) {
  return listOf(table, caller, async () => {
    const user = await findUserByLogin(table, login);
    if (!user) throw new Failure('not-found');
    return user;
  });
}

async function listOf(table: Table, caller: AuthorizedCaller, findOwner: () => Promise<User>) {
  const budget = readBudget(table, caller);
  await budget.requireUnspent();
  const user = await findOwner();
  let consumed = 0;
  const onConsumed = (units: number) => {
    consumed += units;
  };
  const keys = activeTokens(user, Date.now()).map(({ series }) => apiTokenKey(series));
  const [items, uses] = await settleAll([
    table.getAll(keys, onConsumed),
    findTokenUses(table, user.id, onConsumed),
  ]);
  await budget.settle(consumed);
  return items
    .filter((item) => item !== undefined)
    .map((item) => {
      const token = apiTokenOf(item);
      const { lastUsed = null, source = null } = uses.get(token.series) ?? {};
      return { ...shown(token), lastUsed, lastAddress: source };
    });
}

/** Deletes an API token of the caller, which ends it. Fails with not-found. */
export const deleteToken = (caller: AuthorizedCaller, series: string): Promise<void> =>
  caller.change({ decide: ({ callerUser }) => deletionOf(callerUser, series) });

/** Deletes an API token of the user with this login. Fails with not-found and forbidden. */
export function deleteTokenOf(
  table: Table,
  caller: AuthorizedCaller,
  { login, series }: { readonly login: string; readonly series: string },
): Promise<void> {
  return caller.change({
    load: () => findUserByLogin(table, login),
    decide: ({ loaded: user }) => deletionOf(user, series),
  });
}

function deletionOf(user: User | undefined, series: string) {
  if (!user?.tokens?.some((token) => token.series === series)) throw new Failure('not-found');
  const others = user.tokens.filter((token) => token.series !== series);
  return {
    writes: [tokensChanged(user, others), remove(apiTokenKey(series))],
    result: undefined,
    event: auditEventFor('token.deleted', user, [{ field: 'tokens', removed: [series] }]),
  };
}

/** On condition that the tokens have not changed since, nor the login, which is audited. */
const tokensChanged = (user: User, tokens: readonly ListedToken[]) =>
  set(
    entityKey('USER', user.id),
    { tokens },
    attributesAre({ version: user.version, tokens: user.tokens }),
  );
