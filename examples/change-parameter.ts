import type { Client } from './client/client/types.gen.ts';
import { getParameter, updateParameter } from './client/sdk.gen.ts';
import type { Parameter } from './client/types.gen.ts';
import { readArguments, withClient } from './session.ts';

/* npx node examples/change-parameter.ts 1000001 fw2.example.com adds a host to a value. */

const ATTEMPTS_MAX = 10;

/** Changes a value based on its current one, even if others change it at the same time. */
export async function changeValue(
  client: Client,
  id: number,
  change: (value: string) => string,
): Promise<Parameter> {
  for (let attempt = 1; ; attempt++) {
    const read = await getParameter({ client, path: { id }, throwOnError: true });
    const { data, error, response } = await updateParameter({
      client,
      body: { ...read.data, confValue: change(read.data.confValue) },
      headers: { 'If-Match': read.response.headers.get('ETag') ?? '' },
    });
    if (data) return data;
    // 412: another client has changed the parameter since it was read, so it is read again.
    if (response?.status !== 412 || attempt === ATTEMPTS_MAX) throw error;
  }
}

if (import.meta.main) {
  const [id, host] = readArguments('npx node examples/change-parameter.ts ID HOST', /^\d+$/, /./);
  await withClient(async (client) => {
    const { confName, confValue } = await changeValue(
      client,
      Number(id),
      (hosts) => `${hosts},${host}`,
    );
    console.log(`${confName} = ${confValue}`);
  });
}
