import { type DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { patientClient } from '../../../lib/table/table-scanner.ts';
import { OPERATOR } from '../state/operator.ts';
import { hasDatabase, openState, runningTable } from '../state/state.ts';
import { startEngine } from './engine.ts';

/** A local table that can be looked into. */
export interface LocalTable {
  readonly tableName: string;
  readonly client: DynamoDBClient;
  close(): Promise<void>;
}

/**
 * The table of a state folder. Through the service that runs on it; or, when none does, through an engine of its own,
 * which keeps a service from starting until it is closed. Fails in one sentence when there is none.
 */
export async function openLocalTable(stateDir: string): Promise<LocalTable> {
  if (stateDir === ':memory:') {
    throw new Error(
      'STATE_DIR=:memory: keeps no table. Name that of a running service: `npm start` prints its AWS_ENDPOINT_URL and table.',
    );
  }
  const running = runningTable(stateDir);
  if (running) {
    const client = patientClient({ endpoint: running.endpoint, region: running.region, credentials: OPERATOR });
    return { tableName: running.tableName, client, close: async () => client.destroy() };
  }
  if (!hasDatabase(stateDir) && !process.env.AWS_ENDPOINT_URL_DYNAMODB) {
    throw new Error(
      `There is no table in ${stateDir} yet: \`npm start\` makes it. A deployed one is named by --table.`,
    );
  }
  return openStoppedTable(stateDir);
}

async function openStoppedTable(stateDir: string): Promise<LocalTable> {
  const state = await openState(stateDir);
  const engine = await startEngine(state.database, state.engineStarted, () => undefined).catch((error) => {
    state.close();
    throw error;
  });
  // However this process ends, short of SIGKILL, the folder is free again once the engine has ended.
  process.on('exit', state.close);
  // The engine keeps one set of tables for all regions.
  const client = patientClient({ endpoint: engine.url, region: 'us-east-1', credentials: OPERATOR });
  const close = async () => {
    client.destroy();
    await engine.stop();
    process.off('exit', state.close);
    state.close();
  };
  const { TableNames: [tableName, ...others] = [] } = await client.send(new ListTablesCommand({}));
  if (tableName && others.length === 0) return { tableName, client, close };
  await close();
  throw new Error(
    tableName
      ? `There are several tables: ${[tableName, ...others].join(', ')}. Start the service, then verify the one that it uses.`
      : `There is no table in ${stateDir} yet: \`npm start\` makes it.`,
  );
}
