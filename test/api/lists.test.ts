import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { fillUsers } from '../support/instance/items.ts';

/* All pages and links around the ends are in test/unit/list.test.ts and response.test.ts. */

const gatehouse = await useGatehouse({ breaksData: true });
const USERS = '/api/users';

let token: string;
beforeAll(async () => {
  token = await gatehouse.adminToken();
  await fillUsers(gatehouse, 45);
});

describe('a list', () => {
  it('uses the defaults for a page and a size that are not UTF-8', async () => {
    const list = await gatehouse.call('GET', `${USERS}?page=%FF&size=%FF`, { token });

    expect([list.status, list.body.length, list.body[0].id]).toEqual([200, 20, 1]);
    expect(list.headers['x-total-count']).toBe('45');
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
