import { beforeAll, describe, expect, it } from 'vitest';
import type { Kind } from '../../lib/table/keys.ts';
import { importHere, integrationRecord, userRecord } from '../support/commands/transfer.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import type { Received } from '../support/instance/launch.ts';

/* All pages and links around the ends are in test/unit/list.test.ts and response.test.ts. */

const gatehouse = await useGatehouse();

let token: string;
beforeAll(async () => {
  token = await gatehouse.adminToken();
});

const get = (path: string) => gatehouse.call('GET', path, { token });
const idsOf = ({ body }: Received): number[] => body.map(({ id }: { id: number }) => id);
const totalOf = ({ headers }: Received) => Number(headers['x-total-count']);
const storedIds = async (kind: Kind) =>
  (await gatehouse.table.query(kind)).map(({ id }) => id as number).sort((a, b) => a - b);

const pagesOf = ({ headers }: Received) =>
  [...(headers.link ?? '').matchAll(/page=(\d+)[^>]*>; rel="(\w+)"/g)].map(
    ([, page, relation]) => `${relation} ${page}`,
  );

const USERS = '/api/users';
const INTEGRATIONS = '/api/utm-integrations';
const PARAMETERS = '/api/utm-integration-confs';

/** 45 users, 40 integrations and 104 parameters, of which the first integrations have 52 each. */
async function fill() {
  const members = Array.from({ length: 43 }, (_, n) => userRecord(`member${(n * 17) % 43}`));
  const values = Array.from({ length: 40 }, (_, n) => Array(n < 2 ? 52 : 0).fill('514'));
  const owners = values.map((each, n) => integrationRecord(`Syslog ${n}`, each));
  expect((await importHere(gatehouse, [...members, ...owners])).rejected).toEqual([]);
}

describe('an empty list', () => {
  it.each([INTEGRATIONS, PARAMETERS])('%s links one page as both first and last', async (path) => {
    const list = await get(path);

    expect(list.body).toEqual([]);
    expect(totalOf(list)).toBe(0);
    expect(pagesOf(list)).toEqual(['last 0', 'first 0']);
  });
});

describe('a list', () => {
  beforeAll(fill, 60_000);

  describe.each<{ path: string; kind: Kind }>([
    { path: USERS, kind: 'USER' },
    { path: INTEGRATIONS, kind: 'INTEGRATION' },
    { path: PARAMETERS, kind: 'CONF' },
  ])('GET $path', ({ path, kind }) => {
    let ids: number[];
    beforeAll(async () => {
      ids = await storedIds(kind);
    });

    it('is a bare array of the first 20 by id, with the total in X-Total-Count', async () => {
      const list = await get(path);

      expect(idsOf(list)).toEqual(ids.slice(0, 20));
      expect(totalOf(list)).toBe(ids.length);
    });

    it('returns a page from either end of the order by id', async () => {
      const ascending = await get(`${path}?page=2&size=7&sort=id,asc`);
      const descending = await get(`${path}?page=2&size=7&sort=id,desc`);

      expect(idsOf(ascending)).toEqual(ids.slice(14, 21));
      expect(idsOf(descending)).toEqual(ids.toReversed().slice(14, 21));
    });
  });

  it('uses the defaults for a page and a size that are not UTF-8', async () => {
    const list = await get(`${USERS}?page=%FF&size=%FF`);

    expect([list.status, list.body.length, list.body[0].id]).toEqual([200, 20, 1]);
  });

  it('of a long query is readable by fetch in Node, which rejects 16 KB of headers', async () => {
    // Percent-encoded, each `(` takes three bytes in a link.
    const long = (characters: number) => '('.repeat(characters);
    const headers = { Authorization: `Bearer ${token}` };
    const url = `${gatehouse.cloud.url}${USERS}?size=8&page=1`;

    const ignored = await fetch(`${url}&cacheBuster=${long(2700)}`, { headers });
    const filtered = await fetch(`${url}&login.notIn=${long(2500)}`, { headers });

    expect([ignored.status, filtered.status]).toEqual([200, 200]);
    expect(ignored.headers.get('link')?.length).toBeLessThan(300);
    expect(filtered.headers.get('link')).toContain('rel="next"');
  });
});
