import { join } from 'node:path';
import type { Cloud } from './cloud.ts';
import { createFirstAccounts } from './first-accounts.ts';
import type { State } from './state/state.ts';

/** The file for the log lines of functions; undefined for a state in memory. */
export const logFileIn = ({ folder }: State): string | undefined =>
  folder && join(folder, 'functions.log');

/** Creates the first accounts, and tells how to use the service. */
export async function announcement(
  cloud: Cloud,
  state: State,
  engineUrl: string | undefined,
): Promise<string[]> {
  const aboutAccounts = await createFirstAccounts(cloud, state);
  const { url, endpoint, region, tableName } = cloud;
  const logFile = logFileIn(state);
  return [
    whereDataIs(state.folder, engineUrl),
    ...(logFile ? [`The log of the functions is in ${logFile}`] : []),
    `Mail that the service sends is shown at ${endpoint}/mailbox`,
    `Table ${tableName} in ${region}; set AWS_ENDPOINT_URL=${endpoint} to access it`,
    ...aboutAccounts,
    ...howToTry(cloud),
    `Gatehouse is ready at ${url}`,
  ];
}

/** Where the data and the keys are, and whether they are deleted when the service stops. */
function whereDataIs(folder: string | undefined, engineUrl: string | undefined): string {
  if (!engineUrl)
    return folder
      ? `All data is in ${folder}/`
      : 'All data is in memory and will be lost when the service stops';
  return folder
    ? `The table is in the DynamoDB engine at ${engineUrl}; its keys and all mail are in ${folder}/`
    : `The table is in the DynamoDB engine at ${engineUrl} and will be deleted when the ` +
        'service stops';
}

/**
 * What `npm start` prints about a first request; with an edge, which the local cloud lacks, why
 * each one is rejected.
 */
export function howToTry({ url, functions }: Pick<Cloud, 'url' | 'functions'>): string[] {
  if (functions.some(({ environment }) => environment.EDGE_SECRET_HASHES))
    return [
      'The local cloud has no edge: it rejects every request with 403 until `edge` is ' +
        'removed from environments/dev.json',
    ];
  const hasConsole = functions.some(({ name }) => name === 'GET /console');
  return [
    ...(hasConsole ? [`The console: ${url}/console`] : []),
    `The interactive API reference: ${url}/docs`,
    'Try it:',
    `  TOKEN=$(curl -s ${url}/api/authenticate -H 'Content-Type: application/json' \\`,
    `    -d '{"username":"admin","password":"admin"}' | sed 's/.*"id_token":"\\([^"]*\\)".*/\\1/')`,
    `  curl -s ${url}/api/account -H "Authorization: Bearer $TOKEN"`,
  ];
}
