import { existsSync } from 'node:fs';
import { ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { scannerClient } from '../../../lib/table/table-scanner.ts';
import {
  type LocalTables,
  openReadableTable,
  openTable,
  type TableConnection,
} from '../../commands/tables.ts';
import { processIdentity, runningTable } from '../state/folder-lock.ts';
import { OPERATOR } from '../state/operator.ts';
import { databaseIn, openState } from '../state/state.ts';
import { ENGINE_REGION, externalEngine, startEngine } from './engine.ts';

const stateDir = () => process.env.STATE_DIR || '.local';

/** The tables that commands use without --table: of the state folder in STATE_DIR. */
export const localTables: LocalTables = {
  open: () => openLocalTable(stateDir()),
  ofRunningService() {
    const running = locationOf(stateDir());
    if (running) return running;
    throw new Error(
      `No service runs on STATE_DIR=${stateDir()}. Start it with \`npm start\`, ` +
        'or name a table with --table.',
    );
  },
};

function locationOf(folder: string) {
  const running = runningTable(folder);
  if (!running) return undefined;
  const { tableName, endpoint, region } = running;
  return { tableName, settings: { endpoint, region, credentials: OPERATOR } };
}

/**
 * Opens the table of a state folder: through the service that runs on the folder, or, when none
 * runs, through an engine started here, which locks the folder until the connection is closed.
 */
export async function openLocalTable(stateDir: string): Promise<TableConnection> {
  const running = locationOf(stateDir);
  if (running) return openTable(running);
  if (!existsSync(databaseIn(stateDir)) && !externalEngine()) throw noTable(stateDir);
  return openTableWithOwnEngine(stateDir);
}

const noTable = (stateDir: string): Error =>
  new Error(
    `There is no table in ${stateDir}: \`npm start\` stores one, except with :memory:. For a ` +
      'table in another engine, set AWS_ENDPOINT_URL_DYNAMODB. For a deployed table, or the ' +
      'table of a running service, use --table.',
  );

async function openTableWithOwnEngine(stateDir: string): Promise<TableConnection> {
  const stops = new AsyncDisposableStack();
  try {
    const state = await openState(stateDir);
    stops.defer(state.close);
    const engine = await startEngine(
      { file: databaseIn(stateDir), externalUrl: externalEngine() },
      (pid) => state.record({ engine: processIdentity(pid) }),
      () => undefined,
    );
    stops.defer(engine.stop);
    const settings = { endpoint: engine.url, region: ENGINE_REGION, credentials: OPERATOR };
    const client = scannerClient(settings);
    stops.defer(() => client.destroy());
    const { TableNames: [tableName, ...others] = [] } = await client.send(
      new ListTablesCommand({}),
    );
    if (!tableName) throw noTable(stateDir);
    if (others.length > 0)
      throw new Error(
        `There are several tables: ${[tableName, ...others].join(', ')}. ` +
          'Start the service, then run this command again to open the table that it uses.',
      );
    const table = await openReadableTable(tableName, client);
    return { tableName, client, table, close: () => stops.disposeAsync() };
  } catch (error) {
    await stops.disposeAsync();
    throw error;
  }
}
