import {
  CHANGES,
  type Prepared,
  type PreparedRequest,
} from '../support/instance/example-requests.ts';
import { launch } from '../support/instance/launch.ts';
import { openSetup } from '../support/instance/setup.ts';

/*
 * A process that runs the local cloud of the assembly in its first argument, with the throttling of
 * DynamoDB and as many users as its second argument says. Sends requests for its load to its
 * parent, and then the number of transactions so far for every message that it receives.
 */

/** What a load can send. The requests of each list do not affect each other. */
export interface LoadedCloud {
  readonly url: string;
  readonly getUser: readonly PreparedRequest[];
  /** Each updates another user as another administrator. */
  readonly putUsers: readonly PreparedRequest[];
  /** The same user, updated by several administrators. */
  readonly putOneUser: readonly PreparedRequest[];
  readonly logIn: readonly PreparedRequest[];
}

/** Users: as many as there are connections, so that concurrent requests have different ones. */
const USERS = '64';

process.once('disconnect', () => process.exit());

let transactions = 0;
const [, , assembly = '', users = USERS] = process.argv;
const gatehouse = await launch({
  assembly,
  meterCapacity: true,
  maxInstancesPerFunction: 3,
  breaksData: true,
  async intercept({ operation }, forward) {
    if (operation === 'TransactWriteItems') transactions++;
    return forward();
  },
});

const setup = await openSetup(gatehouse);
const putUser = CHANGES.find(({ route }) => route === 'PUT /api/users');
const prepared: Prepared[] = [];
for (let n = 0; putUser && n < Number(users); n++) prepared.push(await putUser.prepare(setup));
const putUsers = prepared.map(({ request }) => request);
const body = putUsers[0]?.body;
const logins = await Promise.all(putUsers.map(() => setup.account()));

const cloud: LoadedCloud = {
  url: gatehouse.cloud.url,
  getUser: putUsers.map((request) => ({
    method: 'GET',
    path: '/api/users/admin',
    token: request.token,
  })),
  putUsers,
  putOneUser: putUsers.map((request) => ({ ...request, body })),
  logIn: logins.map(({ user }) => ({
    method: 'POST',
    path: '/api/authenticate',
    body: { username: user.login, password: 'pass' },
  })),
};
process.on('message', () => process.send?.(transactions));
process.send?.(cloud);
