import { everyRequest, openCallObserver } from '../support/costs/request-calls.ts';
import { openSetup } from '../support/instance/changes.ts';
import { launch } from '../support/instance/launch.ts';
import { table } from './tables.ts';

/** Measures the calls to AWS of a request to every route. */
export async function measureCalls(assembly: string): Promise<string> {
  process.stderr.write('calls\n');
  const observer = openCallObserver();
  const gatehouse = await launch({ assembly, intercept: observer.intercept });
  try {
    const setup = await openSetup(gatehouse);
    const rows: string[][] = [];
    // Changes come first: the audit trail then fills a page, which takes fewer calls than to look
    // for more entries.
    for (const [name, change] of await everyRequest(setup)) {
      const { roundTrips, reads, writes, calls } = await observer.callsOf(setup, change);
      rows.push([name, String(roundTrips), String(reads), String(writes), calls]);
    }
    return table(['', 'round trips', 'read units', 'write units', 'calls'], rows.sort());
  } finally {
    await gatehouse.stop();
  }
}
