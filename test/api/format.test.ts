import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { mailKey } from '../../lib/mail/outbox.ts';
import { mapConcurrently } from '../../lib/runtime/waiting.ts';
import { commit } from '../../lib/table/change.ts';
import { formatKey, READABLE_FORMAT, WRITTEN_FORMAT } from '../../lib/table/format.ts';
import { put, type Write } from '../../lib/table/write.ts';
import { CHANGES, type Prepared, REQUESTS } from '../support/instance/example-requests.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';

/* A release that does not understand the items of a table neither shows nor changes them. */

const gatehouse = await useGatehouse();
const { cloud, table } = gatehouse;

let setup: Setup;
beforeAll(async () => {
  setup = await openSetup(gatehouse);
});

/** Stores a format, or removes it, and lets the next request of each function be its first. */
async function coldStartWith(format?: number): Promise<void> {
  const write: Write = format ? put(formatKey, { format }) : { act: 'Delete', key: formatKey };
  await commit(table, [write]);
  cloud.recycle();
}
const storedFormat = async () => (await itemsOf(cloud)).get('FORMAT FORMAT')?.format;

const prepareAll = (requests: typeof REQUESTS) =>
  mapConcurrently(requests, 4, async (request) => ({
    ...request,
    prepared: await request.prepare(setup),
  }));
const sendAll = <T extends { prepared: Prepared }>(requests: readonly T[]) =>
  mapConcurrently(requests, 8, async ({ prepared }) => (await prepared.send()).status);

afterEach(() => coldStartWith(WRITTEN_FORMAT));

describe('a table of a newer format', () => {
  /** They use no table. */
  const UNAFFECTED = ['GET /api/issuers', 'GET /management/info', 'GET /api/openapi.json'];

  it('is neither read nor changed by any request, until the format is readable', async () => {
    const requests = await prepareAll(REQUESTS);
    await cloud.mailsHandedOver();
    await coldStartWith(READABLE_FORMAT + 1);
    const [before, logged] = [await itemsOf(cloud), gatehouse.lines.length];

    const statuses = await sendAll(requests);

    const isUnaffected = ({ route }: { route: string }) => UNAFFECTED.includes(route);
    expect(statuses).toEqual(requests.map((request) => (isUnaffected(request) ? 200 : 503)));
    expect(await itemsOf(cloud)).toEqual(before);
    const outages = gatehouse.lines
      .slice(logged)
      .flatMap((line) => (line.includes('"outage"') ? [JSON.parse(line)] : []));
    expect(outages.map(({ route, outage }) => `${route} ${outage}`).sort()).toEqual(
      requests
        .filter((request) => !isUnaffected(request))
        .map(({ route }) => `${route} NewerFormat`)
        .sort(),
    );

    await commit(table, [put(formatKey, { format: READABLE_FORMAT })]);

    expect(await sendAll(requests)).toEqual(requests.map(({ success }) => success));
  });

  it('delays its mails', async () => {
    await coldStartWith(READABLE_FORMAT + 1);
    const mail = { occasion: 'passwordChanged', userId: 2, login: 'user', langKey: 'en' };
    const [email, expires] = ['delayed@example.com', Math.ceil(Date.now() / 1000) + 600];
    const key = mailKey(2, new Date().toISOString(), 'delayed');
    await commit(table, [put(key, { ...mail, email, expires })]);

    await cloud.mailsHandedOver();
    const delayed = gatehouse.lines.filter((line) => line.includes('"mailDelayed":"NewerFormat"'));
    await coldStartWith(READABLE_FORMAT);

    expect(delayed).not.toEqual([]);
    await expect.poll(() => gatehouse.mailsTo(email)).toHaveLength(1);
  });
});

describe('a table without a format', () => {
  it('gets it from the first change, and from no read', async () => {
    await coldStartWith();
    const token = await gatehouse.tokenOf('admin');
    const before = await itemsOf(cloud);

    const read = await gatehouse.call('GET', '/api/account', { token });
    const afterRead = await itemsOf(cloud);
    const changed = await gatehouse.call('POST', '/api/account', {
      token,
      body: { firstName: 'Changed', email: 'admin@example.com' },
    });

    expect([read.status, changed.status]).toEqual([200, 200]);
    expect(afterRead).toEqual(before);
    expect(await storedFormat()).toBe(WRITTEN_FORMAT);
  });

  it('is changed by all functions at once, which start at that moment', async () => {
    const requests = await prepareAll(CHANGES);
    await coldStartWith();

    const statuses = await sendAll(requests);

    expect(statuses).toEqual(requests.map(({ success }) => success));
    expect(await storedFormat()).toBe(WRITTEN_FORMAT);
  });
});
