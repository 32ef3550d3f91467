import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import type { Interceptor } from '../../../infra/local/calls/aws-call.ts';
import { commit } from '../../../lib/table/change.ts';
import { claim, EXISTS, set } from '../../../lib/table/write.ts';
import { issuerKeysKey } from '../../../lib/tokens/issuer-keys.ts';
import type { User } from '../../../lib/users/user.ts';
import { findUserByLogin } from '../../../lib/users/user-table.ts';
import { keepOpen } from '../doubles/worker-state.ts';
import { recordUnused } from '../stack/unused-permissions.ts';
import { type Items, itemsOf, restoreItems } from './items.ts';
import { type Gatehouse, type LaunchOptions, launch, type Received } from './launch.ts';
import { makeTokens } from './mint.ts';
import { testProvider } from './provider.ts';
import { RELEASE } from './run-variables.ts';
import { openSetup, type Setup } from './setup.ts';

export type { Gatehouse } from './launch.ts';

type Options = Partial<LaunchOptions>;

/**
 * On the stack of this run, whose unused permissions it records, or on another one, whose
 * permissions are checked only if the options say so.
 */
export function startGatehouse(options: Options = {}): Promise<Gatehouse> {
  const assembly = inject('assembly');
  if (options.assembly !== undefined)
    return launch({ checksPermissions: false, ...options, assembly: options.assembly });
  return launch({
    ...options,
    assembly,
    release: RELEASE,
    onUnusedPermissions: (permissions) => recordUnused(assembly, permissions),
  });
}

/** An instance whose table has the key that signs minted tokens. */
export interface SharedGatehouse extends Gatehouse {
  /** Mints a token of a user, which would otherwise cost a login. */
  tokenOf(login: string): Promise<string>;
  /** Without a password and a login, which would compute a hash each. */
  makeCaller(
    login: string,
    fields?: Record<string, unknown>,
  ): Promise<{ user: Received['body']; token: string }>;
}

/** One instance per worker serves its test files in turn: the start dominates their cost. */
interface Shared {
  readonly gatehouse: SharedGatehouse;
  readonly start: Items;
  intercept: Interceptor | undefined;
}
let started: Promise<Shared> | undefined;

async function share(): Promise<Shared> {
  let shared: Shared | undefined;
  const instance = await startGatehouse({
    intercept: (call, forward) => (shared?.intercept ? shared.intercept(call, forward) : forward()),
  });
  // The first login publishes the signing key and caches that it has done so.
  const tokens = makeTokens(await instance.adminToken());
  // Published before any test, so that no function encounters the minting key as an unknown one.
  const { pk, sk, jwk } = tokens.publicKey;
  await commit(instance.table, [claim({ pk, sk }, { jwk }, 'retry')]);
  // The function that fetches them runs at the start.
  const { issuer, moduleIssuer } = testProvider();
  for (const key of [issuer, moduleIssuer].map((each) => issuerKeysKey(each.issuer))) {
    while (!(await instance.table.get(key))) await setTimeout(20);
    // As if tomorrow: on a slow machine, the function would store them again during a test.
    const fetchedAt = Date.now() + 24 * 60 * 60_000;
    await commit(instance.table, [set(key, { fetchedAt }, EXISTS)]);
  }
  const start = [...(await itemsOf(instance.cloud))].filter(
    ([, { pk }]) => !pk.startsWith('ATTEMPTS#'),
  );
  const tokenOf = async (login: string) => {
    const { token, started } = tokens.of((await findUserByLogin(instance.table, login)) as User);
    await commit(instance.table, [started]);
    return token;
  };
  const gatehouse: SharedGatehouse = Object.assign(instance, {
    tokenOf,
    // A new token for each test file: one that adopts the table ends all earlier sessions.
    adminToken: () => tokenOf('admin'),
    async makeCaller(login: string, fields = {}) {
      const user = await instance.makeUser(login, { password: undefined, ...fields });
      return { user, token: await tokenOf(login) };
    },
  });
  shared = { gatehouse, start: new Map(start), intercept: undefined };
  return shared;
}

/**
 * The instance that the test files of a worker share. After each file, its table is restored to the
 * accounts admin and user, and its mailbox is emptied.
 */
export async function useGatehouse({
  intercept,
  breaksData,
}: Pick<Options, 'intercept' | 'breaksData'> = {}) {
  started ??= keepOpen(share);
  const shared = await started;
  const { gatehouse, start } = shared;
  beforeAll(() => {
    shared.intercept = intercept;
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await gatehouse.quiesce();
  });
  afterAll(async () => {
    shared.intercept = undefined;
    const clear = async () => {
      gatehouse.cloud.mails.splice(0);
      await restoreItems(gatehouse.cloud, start);
    };
    if (breaksData) await clear();
    await gatehouse.assertNoViolations().finally(clear);
  });
  return gatehouse;
}

/** The set-up of a test file, which can be used from its `beforeAll` on. */
export function useSetup(gatehouse: Gatehouse): Setup {
  const setup = {} as Setup;
  beforeAll(async () => {
    Object.assign(setup, await openSetup(gatehouse));
  });
  return setup;
}
