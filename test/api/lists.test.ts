import { beforeAll, describe, expect, it } from 'vitest';
import type { Kind } from '../../lib/table/keys.ts';
import { importHere } from '../support/commands/transfer.ts';
import { type Received, useGatehouse } from '../support/instance/gatehouse.ts';

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
 * 46 similar users, 40 integrations (two full pages) and 105 parameters created in an order other
 * than that of their ids.
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

  describe.each<{ path: string; kind: Kind; largest: number }>([
    { path: USERS, kind: 'USER', largest: 2000 },
    { path: INTEGRATIONS, kind: 'INTEGRATION', largest: 2000 },
    { path: PARAMETERS, kind: 'CONF', largest: 100 },
  ])('GET $path', ({ path, kind, largest }) => {
    let ids: number[];
    let last: number;
    beforeAll(async () => {
      ids = await storedIds(kind);
      last = Math.ceil(ids.length / 20) - 1;
    });

    it('is a bare array of the first 20 by id, with the total in X-Total-Count', async () => {
      const list = await get(path);

      expect(idsOf(list)).toEqual(ids.slice(0, 20));
      expect(totalOf(list)).toBe(ids.length);
    });

    it.each([
      [0, 5],
      [2, 7],
      [1, 20],
      [4, 6],
      [9e14, 2000],
    ])(
      'returns the right entities on page %i of size %i in both directions',
      async (page, size) => {
        const from = page * Math.min(size, largest);
        const to = from + Math.min(size, largest);

        const ascending = await get(`${path}?page=${page}&size=${size}&sort=id,asc`);
        const descending = await get(`${path}?page=${page}&size=${size}&sort=id,desc`);

        expect(idsOf(ascending)).toEqual(ids.slice(from, to));
        expect(idsOf(descending)).toEqual(ids.toReversed().slice(from, to));
        expect([totalOf(ascending), totalOf(descending)]).toEqual([ids.length, ids.length]);
      },
    );

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

    it('links only pages that exist', async () => {
      const [first, second, final, beyond] = await Promise.all(
        [0, 1, last, last + 5].map((page) => get(`${path}?page=${page}`)),
      );

      expect(pagesOf(first as Received)).toEqual(['next 1', `last ${last}`, 'first 0']);
      expect(pagesOf(final as Received)).toEqual([`prev ${last - 1}`, `last ${last}`, 'first 0']);
      expect(pagesOf(beyond as Received)).toEqual([`last ${last}`, 'first 0']);
      if (last > 1)
        expect(pagesOf(second as Received)).toEqual([
          'next 2',
          'prev 0',
          `last ${last}`,
          'first 0',
        ]);
    });

    it('repeats sort and filters in its links, without ignored parameters and commas', async () => {
      const filters = 'id.notIn=9001%2C9002&id.notIn=9003&nonsense=1';
      const list = await get(
        `${path}?cacheBuster=1%2C2&sort=id,desc&page=1&size=8&sort=id,asc&sort=&${filters}`,
      );

      expect(linksOf(list)).toHaveLength(4);
      for (const [, { pathname, searchParams }] of linksOf(list)) {
        expect(pathname).toBe(path);
        expect([...new Set(searchParams.keys())].sort()).toEqual([
          'id.notIn',
          'page',
          'size',
          'sort',
        ]);
        expect(searchParams.getAll('sort')).toEqual(['id,desc', 'id,asc']);
        expect(searchParams.getAll('size')).toEqual(['8']);
        expect(searchParams.getAll('page')).toHaveLength(1);
        expect(searchParams.getAll('id.notIn')).toEqual(['9001,9002', '9003']);
      }
    });

    it.each([
      'cacheBuster=1700000000000&unknown=x&__proto__=y',
      'page=-1&size=0',
      'page=%FF&size=%FF',
      'sort=',
    ])('uses the defaults for %s', async (query) => {
      const list = await get(`${path}?${query}`);

      expect(list.status).toBe(200);
      expect(idsOf(list)).toEqual(ids.slice(0, 20));
    });

    it(`returns at most ${largest} entities on a page`, async () => {
      const list = await get(`${path}?size=${largest + 1}`);

      expect(list.body).toHaveLength(Math.min(largest, ids.length));
      expect(linksOf(list).map(([, { searchParams }]) => searchParams.get('size'))).toContain(
        String(largest),
      );
    });

    it.each(['password', 'confValue', '__proto__'])(
      'rejects sorting by %s with 400',
      async (field) => {
        const { status, body } = await get(`${path}?sort=id,asc&sort=${field},desc`);

        expect({ status, message: body.message }).toEqual({
          status: 400,
          message: 'error.validation',
        });
        expect(body.fieldErrors).toMatchObject([{ field: 'sort' }]);
      },
    );
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

  describe('with a long query', () => {
    // Percent-encoded, each `(` takes three bytes in a link.
    const filter = (characters: number) => `login.notIn=${'('.repeat(characters)}`;
    const bytesOf = ({ headers }: Received) => Buffer.byteLength(headers.link ?? '');
    const relationsOf = (list: Received) => linksOf(list).map(([relation]) => relation);

    it('is readable by fetch in Node, which rejects more than 16 KB of headers', async () => {
      const headers = { Authorization: `Bearer ${token}` };
      const url = `${gatehouse.cloud.url}${USERS}?size=8&page=1`;

      const ignored = await fetch(`${url}&cacheBuster=${'('.repeat(2700)}`, { headers });
      const filtered = await fetch(`${url}&${filter(2500)}`, { headers });

      expect([ignored.status, filtered.status]).toEqual([200, 200]);
      expect(ignored.headers.get('link')?.length).toBeLessThan(300);
      expect(filtered.headers.get('link')).toContain('rel="next"');
    });

    it.each([
      [500, ['next', 'prev', 'last', 'first']],
      [800, ['next', 'prev', 'last']],
      [1200, ['next', 'prev']],
      [2600, ['next']],
    ])(
      'of %i encoded characters has only the links that fit into 8 KB: %j',
      async (characters, relations) => {
        const list = await get(`${USERS}?page=1&size=8&${filter(characters)}`);

        expect(relationsOf(list)).toEqual(relations);
        expect(bytesOf(list)).toBeLessThanOrEqual(8000);
      },
    );

    it('is linked page by page to its end', async () => {
      const seen: number[] = [];
      let next: URL | undefined = new URL(`http://gatehouse${USERS}?size=8&${filter(2600)}`);

      while (next && seen.length < 100) {
        const list: Received = await get(`${next.pathname}${next.search}`);
        seen.push(...idsOf(list));
        next = new Map(linksOf(list)).get('next');
      }

      expect(seen).toEqual(await storedIds('USER'));
    });

    it('is rejected with 400 and its longest parameter when a link would not fit', async () => {
      const rejected = await get(`${USERS}?size=8&email.contains=e&${filter(2700)}`);
      const onePage = await get(`${USERS}?size=2000&${filter(2700)}`);

      expect([rejected.status, rejected.body.message]).toEqual([400, 'error.validation']);
      expect(rejected.body.fieldErrors).toMatchObject([{ field: 'login.notIn', message: 'Size' }]);
      expect([onePage.status, onePage.headers.link]).toEqual([200, undefined]);
      expect(idsOf(onePage)).toEqual(await storedIds('USER'));
    });
  });

  describe('of users', () => {
    const FIELDS = ['login', 'firstName', 'lastName', 'email', 'activated', 'langKey'];
    const AUDIT = ['createdBy', 'createdDate', 'lastModifiedBy', 'lastModifiedDate'];

    it.each(
      [...FIELDS, ...AUDIT].flatMap((field) => [
        [field, 'asc'],
        [field, 'desc'],
      ]),
    )('is sorted by %s %s, with null last and ties broken by id', async (field, direction) => {
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
    });

    it('is sorted by ignorecase without regard to case, then by the next field', async () => {
      const list = await get(
        `${USERS}?size=2000&sort=firstName,desc,ignorecase&sort=id,desc,ignorecase`,
      );

      const names: (string | null)[] = list.body.map(
        ({ firstName }: { firstName: string | null }) => firstName,
      );
      const distinct = names.filter((name, index) => name !== names[index - 1]);
      expect(distinct).toEqual(['Čeněk', 'User', 'bob', 'Administrator', 'Ada', null]);
      const [first, second] = list.body.filter(
        ({ firstName }: { firstName: string }) => firstName === 'bob',
      );
      expect(first.id).toBeGreaterThan(second.id);
    });

    it.each(['authorities', 'authorities,ignorecase'])(
      'cannot be sorted by a set of values: %s',
      async (sort) => {
        const { status, body } = await get(`${USERS}?sort=${sort}`);

        expect([status, body.fieldErrors[0].field]).toEqual([400, 'sort']);
      },
    );

    it('is sorted by several fields in turn', async () => {
      const { body } = await get(
        `${USERS}?size=2000&sort=langKey,desc&sort=activated&sort=id,desc`,
      );

      const seen: string[] = body.map(
        ({ langKey, activated, id }: { langKey: string; activated: boolean; id: number }) =>
          [langKey === 'en' ? 1 : 2, activated ? 2 : 1, String(1e6 - id)].join(),
      );
      expect(seen).toEqual(seen.toSorted());
      expect(new Set(seen.map((key) => key.slice(0, 3))).size).toBe(4);
    });

    it('is paged in sorted order', async () => {
      const whole = await get(`${USERS}?size=2000&sort=lastName,desc`);

      const pages = await Promise.all(
        [0, 1, 2, 3].map((page) => get(`${USERS}?page=${page}&sort=lastName,desc`)),
      );

      expect(pages.flatMap(idsOf)).toEqual(idsOf(whole));
      expect(pages.map((page) => page.body.length)).toEqual([20, 20, whole.body.length - 40, 0]);
    });
  });
});
