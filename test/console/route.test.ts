import { describe, expect, it } from 'vitest';
import { integrationPath, routeOf, userPath, withQuery } from '../../console/route.ts';

it.each([
  ['/console', { screen: 'home' }],
  ['/console/', { screen: 'home' }],
  ['/console/users', { screen: 'users' }],
  ['/console/users/', { screen: 'users' }],
  ['/console/users/new', { screen: 'new-user' }],
  ['/console/users/anna.smith', { screen: 'user', login: 'anna.smith' }],
  ['/console/integrations/7', { screen: 'integration', id: '7' }],
  ['/console/account/second-factor', { screen: 'second-factor' }],
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

it('the path of an integration leads to it', () => {
  expect(routeOf(integrationPath(7))).toEqual({ screen: 'integration', id: '7' });
});

describe('a mailed link', () => {
  it('has its key in the fragment', () => {
    expect(routeOf('/console/set-password', '#key=a-B_1')).toEqual({
      screen: 'set-password',
      key: 'a-B_1',
    });
  });

  it('without a key has none', () => {
    expect(routeOf('/console/confirm-email', '').screen).toBe('confirm-email');
    expect(routeOf('/console/confirm-email', '#other')).toHaveProperty('key', undefined);
  });
});

it('leaves out what is empty of a query', () => {
  expect(withQuery('/console/users', { page: '', 'login.contains': 'a b' })).toBe(
    '/console/users?login.contains=a+b',
  );
  expect(withQuery('/console/users', { page: '' })).toBe('/console/users');
});
