import { Failure } from '../contract/failure.ts';
import type { ModuleReport } from '../integrations/integration.ts';
import { settleAll } from '../runtime/waiting.ts';
import { ignoreUnavailable } from '../table/change.ts';
import type { SnapshotTable } from '../table/snapshot.ts';
import type { Precondition } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import type { AuthorizedModule } from './module-caller.ts';
import { readModule, type WantedConfiguration } from './read-module.ts';
import { recordReport } from './record-report.ts';

interface Poll {
  readonly precondition: Precondition;
  /** The header Gatehouse-Running. */
  readonly running: string | undefined;
}

/**
 * Reads what a module is wanted to run, and records what it says to run. A module that could not
 * apply the wanted number gets no body for it again. Fails as `readModule` does, and with
 * invalid.
 */
export async function pollModule(
  table: SnapshotTable,
  caller: AuthorizedCaller | AuthorizedModule,
  id: number,
  { precondition, running }: Poll,
): Promise<WantedConfiguration> {
  // Users get no 304: the state that they read also changes without a new number.
  if (!('clientId' in caller)) return readModule(table, caller, id, undefined);
  const { moduleRevision: wanted } = caller.integration;
  const report = possibleNumbers(parseRunning(running), wanted);
  const hasFailed = precondition?.isNegative && report?.failed === wanted;
  const [configuration] = await settleAll([
    hasFailed ? Promise.resolve({ wanted }) : readModule(table, caller, id, precondition),
    // The module states it again with its next poll.
    ignoreUnavailable(recordReport(table, caller, report)),
  ]);
  return configuration;
}

/**
 * A module can state a number that was never wanted after the table was replaced by an older one.
 * Its configuration is what corrects that, so it is not refused; the statement is not recorded.
 */
function possibleNumbers(
  report: ModuleReport | undefined,
  wanted: number,
): ModuleReport | undefined {
  const isPossible = report && Math.max(report.running, report.failed ?? 0) <= wanted;
  return isPossible ? report : undefined;
}

const FIELD = 'Gatehouse-Running';
/** A key of a parameter, and a bare item as its value (RFC 9651, 3.1.2 and 3.3). */
const KEY = '[a-z*][a-z\\d_.*-]*';
const BARE_ITEM = [
  '-?[\\d.]{1,17}',
  '"(?:[ !#-[\\]-~]|\\\\["\\\\])*"',
  "[A-Za-z*][\\w!#$%&'*+.^`|~:/-]*",
  '\\?[01]',
  ':[\\w+/=]*:',
  '@-?\\d+',
].join('|');
const PARAMETER = `; *(${KEY})(?:=(${BARE_ITEM}))?`;
/** An integer with parameters, of which only `failed` has a meaning. */
const ITEM = new RegExp(`^(\\d{1,15})((?:${PARAMETER})*)$`);

/**
 * What a module runs, as the header of its poll states it: `16`, or `16;failed=17`. Undefined
 * without the header, or if it is empty. Fails with invalid.
 */
function parseRunning(header: string | undefined): ModuleReport | undefined {
  if (!header) return undefined;
  const running = ITEM.exec(header)?.[1];
  const values = new Map(
    // Without a value, a parameter is true.
    [...header.matchAll(new RegExp(PARAMETER, 'g'))].map(([, key, value = '?1']) => [key, value]),
  );
  const failed = values.get('failed');
  const isValid = running && (failed === undefined || /^\d{1,15}$/.test(failed));
  if (!isValid) {
    const reason = 'an integer, such as 16, or 16;failed=17';
    throw new Failure('invalid', { fieldErrors: [{ field: FIELD, message: 'Pattern', reason }] });
  }
  return { running: Number(running), ...(failed !== undefined && { failed: Number(failed) }) };
}
