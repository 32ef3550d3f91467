import type { Client } from './client/client/types.gen.ts';
import { listUsers } from './client/sdk.gen.ts';
import { readArguments, withClient } from './session.ts';

/* Prints all users: `npx node examples/follow-list.ts`. */

export interface Page<Entity> {
  readonly data: readonly Entity[];
  readonly response: Response;
}

/** Follows the links as they are, because they carry a cursor. */
export async function* followList<Entity>(
  client: Client,
  first: Page<Entity>,
): AsyncGenerator<Entity> {
  let page: Page<Entity> | undefined = first;
  while (page) {
    yield* page.data;
    page = await nextPage(client, page);
  }
}

async function nextPage<Entity>(
  client: Client,
  { response }: Page<Entity>,
): Promise<Page<Entity> | undefined> {
  const [, url] = /<([^>]*)>; rel="next"/.exec(response.headers.get('Link') ?? '') ?? [];
  return url === undefined
    ? undefined
    : client.get<Entity[], unknown, true>({ url, throwOnError: true });
}

if (import.meta.main) {
  readArguments('npx node examples/follow-list.ts');
  await withClient(async (client) => {
    const first = await listUsers({ client, query: { size: 100 }, throwOnError: true });
    for await (const { id, login } of followList(client, first)) console.log(id, login);
  });
}
