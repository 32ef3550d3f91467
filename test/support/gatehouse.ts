import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import type { Interceptor } from '../../infra/local/calls/aws-call.ts';
import { commit } from '../../lib/table/change.ts';
import { claim } from '../../lib/table/write.ts';
import { type Items, itemsOf, putBack } from './items.ts';
import { type Gatehouse, type Launch, launch } from './launch.ts';
import { makeTokens } from './mint.ts';
import { recordUnused } from './unused-rights.ts';

export type { Gatehouse, Received } from './launch.ts';

type Options = Partial<Omit<Launch, 'heldToRows'>>;

/** Gatehouse on the stack of this run, whose rights it helps to justify; or on a mutant. */
export function startGatehouse(options: Options = {}): Promise<Gatehouse> {
  const assembly = inject('assembly');
  if (options.assembly !== undefined) return launch({ ...options, assembly: options.assembly, heldToRows: false });
  return launch({ ...options, assembly, onUnusedRights: (rights) => recordUnused(assembly, rights) });
}

/** Serves one test file after the other: most of what a file would cost is the start. */
interface Shared {
  readonly gatehouse: Gatehouse;
  /** The table before the first test. */
  readonly start: Items;
  /** What the file that it serves wants around its calls. */
  intercept: Interceptor | undefined;
}
const worker = globalThis as { shared?: Promise<Shared> };

async function share(): Promise<Shared> {
  let shared: Shared | undefined;
  const gatehouse = await startGatehouse({
    intercept: (call, make) => (shared?.intercept ? shared.intercept(call, make) : make()),
  });
  // The first login publishes the key of tokens, and remembers that it has.
  const { publicKey } = makeTokens(await gatehouse.logIn('admin'));
  // From the start, so that no function first meets it as an unknown key.
  const { pk, sk, jwk } = publicKey;
  await commit(gatehouse.table, [claim({ pk, sk }, { jwk }, 'retry')]);
  const start = [...(await itemsOf(gatehouse.cloud))].filter(([, { pk }]) => !pk.startsWith('ATTEMPTS#'));
  shared = { gatehouse, start: new Map(start), intercept: undefined };
  return shared;
}

/** Gatehouse for all tests of a file, with the accounts admin and user, nothing else in its table and no mail. */
export function useGatehouse({ intercept, breaksData }: Pick<Options, 'intercept' | 'breaksData'> = {}): Gatehouse {
  let shared: Shared | undefined;
  beforeAll(async () => {
    worker.shared ??= share();
    shared = await worker.shared;
    shared.intercept = intercept;
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await shared?.gatehouse.quiesce();
  });
  afterAll(async () => {
    if (!shared) return;
    const { gatehouse, start } = shared;
    shared.intercept = undefined;
    const clear = async () => {
      gatehouse.cloud.mails.splice(0);
      await putBack(gatehouse.cloud, start);
    };
    if (breaksData) await clear();
    await gatehouse.judge().finally(clear);
  });
  return new Proxy({} as Gatehouse, {
    get: (_, name) => shared?.gatehouse[name as keyof Gatehouse],
  });
}
