import { authenticatedFetch } from './authenticated-fetch.ts';
import { createClient } from './client/client/client.gen.ts';
import type { Client } from './client/client/types.gen.ts';
import { authenticate, logOut } from './client/sdk.gen.ts';
import { retryingFetch } from './retrying-fetch.ts';

/**
 * A client that is logged in, and logs in again when its token has ended. The code is one of a
 * user with a second factor; logging in again fails with it, because a code is accepted once.
 */
export async function logIn(
  baseUrl: string,
  username: string,
  password: string,
  code?: string,
): Promise<Client> {
  const client = createClient({ baseUrl, fetch: retryingFetch() });
  const newToken = async () => {
    const { data: token } = await authenticate({
      client,
      body: { username, password, ...(code && { code }) },
      throwOnError: true,
    });
    return token.id_token;
  };
  return createClient({ baseUrl, fetch: authenticatedFetch(await newToken(), newToken) });
}

/** One argument for each pattern; others end the process with the usage. */
export function readArguments(usage: string, ...patterns: RegExp[]): string[] {
  const given = process.argv.slice(2);
  if (
    given.length === patterns.length &&
    patterns.every((pattern, index) => pattern.test(given[index] ?? ''))
  )
    return given;
  console.error(`Usage: ${usage}`);
  process.exit(2);
}

/** The service of the environment, by default the one of `npm start`. */
export const serviceUrl = (): string => process.env.GATEHOUSE_URL || 'http://127.0.0.1:3000';

/**
 * Runs a program with the API token in the environment, or as the account there, by default the
 * administrator of `npm start`, and then logs out at its end: forgetting the token would leave the
 * session until it expires.
 */
export async function withClient<Result>(
  run: (client: Client) => Promise<Result>,
): Promise<Result> {
  const baseUrl = serviceUrl();
  const {
    GATEHOUSE_TOKEN,
    GATEHOUSE_LOGIN = 'admin',
    GATEHOUSE_PASSWORD = 'admin',
    GATEHOUSE_CODE,
  } = process.env;
  if (GATEHOUSE_TOKEN) {
    const headers = { Authorization: `Bearer ${GATEHOUSE_TOKEN}` };
    return run(createClient({ baseUrl, headers, fetch: retryingFetch() }));
  }
  const client = await logIn(baseUrl, GATEHOUSE_LOGIN, GATEHOUSE_PASSWORD, GATEHOUSE_CODE);
  try {
    return await run(client);
  } finally {
    await logOut({ client });
  }
}
