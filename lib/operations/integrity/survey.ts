import type { Integration } from '../../integrations/integration.ts';
import { integrationOf } from '../../integrations/integration-table.ts';
import { activeCredentials } from '../../modules/credential.ts';
import { needsAttention } from '../../modules/module-state.ts';
import { requireReadable } from '../../table/format.ts';
import {
  canOwnParameters,
  collectionOf,
  integrationIdOf,
  type Key,
  KINDS,
  type Kind,
  PARAMETERS_PER_INTEGRATION_EVER,
} from '../../table/keys.ts';
import type { Item } from '../../table/table.ts';
import type { TableScanner } from '../../table/table-scanner.ts';
import { NotGatehouseTable } from '../../table/wrong-table.ts';
import type { User } from '../../users/user.ts';
import { rosterIdsOf } from '../../users/user-items.ts';
import { MAIL_PARTITIONS, PARTITION } from '../item-kinds.ts';
import { type Overview, openCount } from '../overview/count-overview.ts';
import { findDefect } from './find-defect.ts';

/** The part of a user that the verification reads. */
export type VerifiedUser = Pick<
  User,
  'id' | 'login' | 'email' | 'identities' | 'activated' | 'authorities' | 'version'
>;

/**
 * The result of a scan. A scan reads items one after the other while they change, so a mismatch is
 * not yet a defect, but a reason to read the items again in one transaction.
 */
export interface Survey {
  items: number;
  /** The number of users, integrations and parameters. */
  readonly counts: Record<Kind, number>;
  readonly highestIds: Record<Kind, number>;
  readonly totals: Record<Kind, number>;
  /** The items with a defect of their own. */
  readonly defective: Key[];
  /** Users and integrations by id, guards by partition key; items with a defect are left out. */
  readonly users: Map<number, VerifiedUser>;
  readonly guards: Map<string, number>;
  readonly integrations: Map<
    number,
    Pick<Integration, 'parameterCount' | 'parametersEver' | 'parameterBytes'>
  >;
  /** The client ids of unexpired credentials: as integrations list them, and as items. */
  readonly listedCredentials: Set<string>;
  readonly credentials: Set<string>;
  roster: ReadonlySet<number>;
  oldestPendingRestart: PendingRestart | undefined;
  /** The integrations whose module somebody should look after. */
  readonly modulesToWatch: number[];
  /** Mails that nobody has tried to send. */
  waitingMails: number;
  /** What the overview counts. */
  readonly overview: Overview;
  /** By integration id. */
  readonly parameters: Map<number, SeenParameters>;
}

/** The integration whose module needs a restart, and since when, in milliseconds since 1970. */
export interface PendingRestart {
  readonly integrationId: number;
  readonly since: number;
}

/**
 * The number of parameters of an integration, the highest own number among them, and the sum of
 * their bytes.
 */
interface SeenParameters {
  readonly count: number;
  readonly highest: number;
  readonly bytes: number;
}

/** After the alarm mail-delayed, which mail that was handed over and cannot be sent raises. */
const WAITS_MS_MAX = 3_600_000;

export const NO_PARAMETERS: SeenParameters = { count: 0, highest: 0, bytes: 0 };

/** The bytes of a parameter; zero in items written before bytes were counted. */
export const countedBytes = ({ bytes }: Item): number => (bytes as number | undefined) ?? 0;

const zeros = () => Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<Kind, number>;

/**
 * Scans the whole table; `onProgress` receives the number of items read. Fails with
 * NotGatehouseTable, and with NewerFormat.
 */
export async function survey(
  table: TableScanner,
  onProgress: (items: number) => void,
): Promise<Survey> {
  const overview = openCount(Date.now());
  const seen: Seen = {
    items: 0,
    counts: zeros(),
    highestIds: zeros(),
    totals: zeros(),
    defective: [],
    users: new Map(),
    guards: new Map(),
    integrations: new Map(),
    listedCredentials: new Set(),
    credentials: new Set(),
    roster: new Set(),
    oldestPendingRestart: undefined,
    modulesToWatch: [],
    waitingMails: 0,
    parameters: new Map(),
  };
  for await (const page of table.scan()) {
    for (const item of page) {
      if (typeof item.pk !== 'string' || typeof item.sk !== 'string') throw new NotGatehouseTable();
      if (item.pk === PARTITION.format) requireReadable(item);
      note(seen, item, overview);
    }
    onProgress(seen.items);
  }
  return { ...seen, overview: overview.result() };
}

type Seen = Omit<Survey, 'overview'>;

function note(seen: Seen, item: Item, overview: ReturnType<typeof openCount>): void {
  seen.items++;
  const kind = collectionOf(item);
  if (kind) {
    seen.counts[kind]++;
    const id = Number(item.sk);
    // A sequence that such an id had raised would give out ids that can own no parameters.
    if (kind !== 'INTEGRATION' || canOwnParameters(id))
      seen.highestIds[kind] = Math.max(seen.highestIds[kind], id);
  }
  if (findDefect(item)) {
    seen.defective.push({ pk: item.pk, sk: item.sk });
    return;
  }
  overview.add(item);
  if (kind === 'USER') seen.users.set(item.id as number, verifiedUserOf(item));
  else if (kind === 'INTEGRATION') noteIntegration(seen, item);
  else if (kind === 'CONF') noteParameter(seen, item);
  else if (item.sk === 'GUARD') seen.guards.set(item.pk, item.id as number);
  else if (item.sk === 'ROSTER') seen.roster = rosterIdsOf(item);
  else if (item.pk === PARTITION.total) seen.totals[item.sk as Kind] = item.n as number;
  else if (item.pk.startsWith(PARTITION.credential)) noteCredential(seen, item);
  else if (isWaitingMail(item, Date.now())) seen.waitingMails++;
}

/** A mail is marked as counted when its sending begins, normally within seconds. */
const isWaitingMail = ({ pk, sk, counted, expires }: Item, now: number): boolean =>
  MAIL_PARTITIONS.some((prefix) => pk.startsWith(prefix)) &&
  !counted &&
  now / 1000 < (expires as number) &&
  Date.parse(sk.slice(0, sk.indexOf('#'))) < now - WAITS_MS_MAX;

function noteIntegration(seen: Seen, item: Item): void {
  const stored = item as unknown as Integration;
  const { id, module, parameterCount, parametersEver, parameterBytes } = stored;
  seen.integrations.set(id, { parameterCount, parametersEver, parameterBytes });
  for (const { clientId } of activeCredentials(stored, Date.now()))
    seen.listedCredentials.add(clientId);
  const since = module?.needsRestartSince ?? Number.POSITIVE_INFINITY;
  const oldest = seen.oldestPendingRestart?.since ?? Number.POSITIVE_INFINITY;
  // An older release clears the flag and leaves the time.
  // Stryker disable next-line EqualityOperator: either of two integrations is the oldest
  if (module?.needsRestart && since < oldest)
    seen.oldestPendingRestart = { integrationId: id, since };
  if (needsAttention(integrationOf(item), Date.now())) seen.modulesToWatch.push(id);
}

function noteCredential({ credentials }: Seen, { pk, expires }: Item): void {
  if (Date.now() / 1000 < (expires as number))
    credentials.add(pk.slice(PARTITION.credential.length));
}

function noteParameter({ parameters }: Seen, item: Item): void {
  const id = item.id as number;
  const integrationId = integrationIdOf(id);
  const { count, highest, bytes } = parameters.get(integrationId) ?? NO_PARAMETERS;
  const number = id % PARAMETERS_PER_INTEGRATION_EVER;
  parameters.set(integrationId, {
    count: count + 1,
    highest: Math.max(highest, number),
    bytes: bytes + countedBytes(item),
  });
}

/** The verified part of a user item that has no defect. */
export function verifiedUserOf(item: Item): VerifiedUser {
  const { id, login, email, identities, ...user } = item as unknown as VerifiedUser;
  const { activated, authorities, version } = user;
  return { id, login, email, identities, activated, authorities, version };
}
