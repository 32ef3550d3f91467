import { beforeAll, describe, expect, it } from 'vitest';
import type { Kind } from '../../lib/table/keys.ts';
import { importHere } from '../support/commands/transfer.ts';
import { type Received, useGatehouse } from '../support/instance/gatehouse.ts';

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

async function make(path: string, body: object) {
  const { status, text, body: made } = await gatehouse.call('POST', path, { token, body });
  expect(status, text).toBe(201);
  return made;
}

/** The links of a response in order. Split at commas, as clients do. */
function linksOf({ headers }: Received): [relation: string, target: URL][] {
  return (headers.link ?? '').split(',').map((link) => {
    const [, target = '', relation = ''] = /^<(.+)>; rel="(.+)"$/.exec(link) ?? [];
    return [relation, new URL(target, 'http://gatehouse')];
  });
}
const pagesOf = (list: Received) =>
  linksOf(list).map(([rel, { searchParams }]) => `${rel} ${searchParams.get('page')}`);

const USERS = '/api/users';
const INTEGRATIONS = '/api/utm-integrations';
const PARAMETERS = '/api/utm-integration-confs';

const integration = { name: 'Syslog', shortName: 'sys log', integrationType: 'COLLECTOR' };
const parameterOf = (owner: { id: number }) => ({
  integration: owner,
  confName: 'port',
  confValue: '514',
});
const user = (login: string) => ({ login, email: `${login}@example.com` });

/**
 * 46 similar users, 40 integrations (two full pages) and 105 parameters created in another
 * order than their ids have.
 */
async function fill() {
  const FIRST_NAMES = ['Ada', 'bob', undefined, 'Čeněk', ''];
  const members = Array.from({ length: 43 }, (_, index) => {
    const n = index + 1;
    const [firstName, lastName] = [FIRST_NAMES[n % 5], n % 7 ? `Name ${100 - n}` : undefined];
    const fields = { firstName, lastName, langKey: n % 2 ? 'en' : 'de', activated: n % 3 > 0 };
    return { type: 'user', ...user(`member${(n * 17) % 43}`), ...fields };
  });
  const { integration: _, ...parameter } = parameterOf({ id: 0 });
  const owners = Array.from({ length: 40 }, (_, index) => {
    const parameters = Array(index < 2 ? 52 : 0).fill(parameter);
    return { type: 'integration', ...integration, parameters };
  });
  expect((await importHere(gatehouse, [...members, ...owners])).rejected).toEqual([]);
  // Another administrator changes an early user, so that neither audit field is in id order.
  const { token: deputy } = await gatehouse.makeCaller('deputy', { authorities: ['ROLE_ADMIN'] });
  const { body: early } = await get(`${USERS}/user`);
  await gatehouse.call('PUT', USERS, { token: deputy, body: early });
  await make(PARAMETERS, parameterOf({ id: 1 }));
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

    it('returns every entity once when a client follows the next links', async () => {
      const seen: number[] = [];
      let next: URL | undefined = new URL(`http://gatehouse${path}?size=8`);

      while (next && seen.length <= ids.length) {
        const list: Received = await get(`${next.pathname}${next.search}`);
        seen.push(...idsOf(list));
        next = new Map(linksOf(list)).get('next');
      }

      expect(seen).toEqual(ids);
    });
  });

  it('uses the defaults for a page and a size that are not UTF-8', async () => {
    const list = await get(`${USERS}?page=%FF&size=%FF`);

    expect([list.status, list.body.length, list.body[0].id]).toEqual([200, 20, 1]);
  });

  it.each([
    [USERS, () => make(USERS, user('short-lived')), () => `${USERS}/short-lived`],
    [
      INTEGRATIONS,
      () => make(INTEGRATIONS, integration),
      ({ id }: { id: number }) => `${INTEGRATIONS}/${id}`,
    ],
    [
      PARAMETERS,
      async () => make(PARAMETERS, parameterOf((await get(INTEGRATIONS)).body[0])),
      ({ id }: { id: number }) => `${PARAMETERS}/${id}`,
    ],
  ])('%s counts creations and deletions immediately', async (path, makeOne, pathOf) => {
    const before = totalOf(await get(path));

    const made = await makeOne();
    const more = totalOf(await get(path));
    await gatehouse.call('DELETE', pathOf(made), { token });
    const end = totalOf(await get(path));

    expect([more, end]).toEqual([before + 1, before]);
  });

  it('of parameters no longer counts those that were deleted with their integration', async () => {
    const before = totalOf(await get(PARAMETERS));
    const owner = await make(INTEGRATIONS, integration);
    for (let n = 0; n < 3; n++) await make(PARAMETERS, parameterOf(owner));

    await gatehouse.call('DELETE', `${INTEGRATIONS}/${owner.id}`, { token });

    expect(totalOf(await get(PARAMETERS))).toBe(before);
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

  describe('of users', () => {
    const FIELDS = ['login', 'firstName', 'lastName', 'email', 'activated', 'langKey'];
    const AUDIT = ['createdBy', 'createdDate', 'lastModifiedBy', 'lastModifiedDate'];

    it.each([...FIELDS, ...AUDIT].map((field, index) => [field, index % 2 ? 'desc' : 'asc']))(
      'is sorted by %s %s, with null last and ties broken by id',
      async (field, direction) => {
        const { body } = await get(`${USERS}?size=2000&sort=${field},${direction}`);

        const values = body.map((entry: Record<string, unknown>) => entry[field as string]);
        expect(new Set(values).size).toBeGreaterThan(1);
        for (let n = 1; n < body.length; n++) {
          const [before, after] = [values[n - 1], values[n]];
          if (before === after) expect(body[n - 1].id).toBeLessThan(body[n].id);
          else if (after !== null) {
            expect(before).not.toBeNull();
            expect(before < after).toBe(direction === 'asc');
          }
        }
      },
    );
  });
});
