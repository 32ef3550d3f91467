/* The state of a screen is in its query, so that Back, reload and a shared link show the same. */

export const BASE = '/console';

export type Route =
  | { readonly screen: 'forgotten-password' | 'sign-in' }
  | { readonly screen: 'set-password' | 'confirm-email'; readonly link: MailedLink }
  | { readonly screen: AccountScreen | 'about' | 'audit' | 'users' | 'integrations' | 'modules' }
  | { readonly screen: 'new-user' | 'new-integration' | 'log-in-preview' | 'home' | 'not-found' }
  | { readonly screen: 'user'; readonly login: string }
  | { readonly screen: 'integration'; readonly id: string };

/** What follows the `#` of a mailed link, which is not sent to the server. */
export interface MailedLink {
  readonly key: string | undefined;
  readonly login: string | undefined;
}

type AccountScreen = 'account' | 'password' | 'sessions' | 'tokens' | 'second-factor';

const SCREENS: Readonly<Record<string, Route>> = {
  '': { screen: 'home' },
  'forgotten-password': { screen: 'forgotten-password' },
  'sign-in': { screen: 'sign-in' },
  account: { screen: 'account' },
  'account/password': { screen: 'password' },
  'account/sessions': { screen: 'sessions' },
  'account/tokens': { screen: 'tokens' },
  'account/second-factor': { screen: 'second-factor' },
  users: { screen: 'users' },
  'users/new': { screen: 'new-user' },
  'log-in-preview': { screen: 'log-in-preview' },
  integrations: { screen: 'integrations' },
  'integrations/new': { screen: 'new-integration' },
  modules: { screen: 'modules' },
  audit: { screen: 'audit' },
  about: { screen: 'about' },
};

const NOT_FOUND: Route = { screen: 'not-found' };

export function routeOf(pathname: string, hash = ''): Route {
  if (pathname !== BASE && !pathname.startsWith(`${BASE}/`)) return NOT_FOUND;
  const path = pathname.slice(BASE.length + 1).replace(/\/$/, '');
  if (path === 'set-password' || path === 'confirm-email')
    return { screen: path, link: linkOf(hash) };
  const [folder, name = '', ...rest] = path.split('/');
  const known = Object.hasOwn(SCREENS, path) ? SCREENS[path] : undefined;
  if (known) return known;
  if (rest.length > 0 || name === '') return NOT_FOUND;
  if (folder === 'users') return { screen: 'user', login: decoded(name) };
  if (folder === 'integrations' && /^\d+$/.test(name)) return { screen: 'integration', id: name };
  return NOT_FOUND;
}

/** `%6Eew` for the login `new`, because /users/new is the form for a new user. */
export const userPath = (login: string): string =>
  `${BASE}/users/${login === 'new' ? '%6Eew' : encodeURIComponent(login)}`;

export const integrationPath = (id: number | string): string => `${BASE}/integrations/${id}`;

export const withQuery = (path: string, query: Readonly<Record<string, string>>): string => {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''));
  return search.size > 0 ? `${path}?${search}` : path;
};

function linkOf(hash: string): MailedLink {
  // `+` is a sign of a login here, not a blank.
  const fragment = new URLSearchParams(hash.slice(1).replaceAll('+', '%2B'));
  return { key: fragment.get('key') ?? undefined, login: fragment.get('login') ?? undefined };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
