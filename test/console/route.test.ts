import { expect, it } from 'vitest';
import { filtersOf, queryOf, rangeOf, sortedBy, sortOf, withChanges } from '../../console/list.ts';
import { routeOf, userPath, withQuery } from '../../console/route.ts';

it.each([
  ['/console/', { screen: 'home' }],
  ['/console/users/', { screen: 'users' }],
  ['/console/integrations/x', { screen: 'not-found' }],
  ['/console/users/a/b', { screen: 'not-found' }],
  ['/console/constructor', { screen: 'not-found' }],
  ['/consoles', { screen: 'not-found' }],
  ['/console/users/%E0%A4%A', { screen: 'user', login: '%E0%A4%A' }],
])('%s is %j', (path, route) => {
  expect(routeOf(path)).toEqual(route);
});

it.each(['anna', 'new', 'a&b=^{|}~', 'x@example.com', '..a'])(
  'the path of the user %s leads to that user',
  (login) => {
    const { pathname } = new URL(userPath(login), 'https://example.com');

    expect(routeOf(pathname)).toEqual({ screen: 'user', login });
  },
);

it('leaves out what is empty of a query', () => {
  expect(withQuery('/console/users', { page: '', 'login.contains': 'a b' })).toBe(
    '/console/users?login.contains=a+b',
  );
  expect(withQuery('/console/users', { page: '' })).toBe('/console/users');
});

const BY_ID = { field: 'id', descending: false };

it('starts at the first page when a filter or the order changes', () => {
  const query = queryOf('page=3&cursor=abc&size=50&login.contains=a');

  expect(withChanges(query, { 'login.contains': 'b', 'email.contains': '' })).toEqual({
    size: '50',
    'login.contains': 'b',
  });
  expect(sortedBy(query, 'login', BY_ID)).toEqual({
    size: '50',
    'login.contains': 'a',
    sort: 'login,asc',
  });
});

it('sorts the other way at the second click on the same column', () => {
  const first = sortedBy({}, 'login', BY_ID);
  const second = sortedBy(first, 'login', BY_ID);

  expect([first.sort, second.sort, sortedBy(second, 'login', BY_ID).sort]).toEqual([
    'login,asc',
    'login,desc',
    'login,asc',
  ]);
  expect(sortedBy({}, 'id', BY_ID).sort).toBe('id,desc');
});

it('reads the order that is set, or else the order of the list', () => {
  expect(sortOf({ sort: 'login,desc' }, BY_ID)).toEqual({ field: 'login', descending: true });
  expect(sortOf({ sort: 'login' }, BY_ID)).toEqual({ field: 'login', descending: false });
  expect(sortOf({}, BY_ID)).toEqual(BY_ID);
});

it('tells filters from position, size and order', () => {
  expect(filtersOf(queryOf('page=1&cursor=x&size=5&sort=id,asc&activated.equals=true'))).toEqual([
    ['activated.equals', 'true'],
  ]);
});

it.each([
  [{}, 20, [1, 20]],
  [{ page: '2', cursor: 'x' }, 17, [41, 57]],
  [{}, 0, undefined],
  [{ cursor: 'x' }, 20, undefined],
  [{ page: 'x' }, 20, undefined],
])('the page %j with %i rows shows the range %j', (query, rows, range) => {
  expect(rangeOf(query as Record<string, string>, rows, 20)).toEqual(range);
});
