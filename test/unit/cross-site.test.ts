import { expect, it, vi } from 'vitest';
import { openCrossSitePolicy } from '../../lib/http/cross-site.ts';

type Headers = Record<string, string>;

const SITE = { 'sec-fetch-site': 'cross-site' };
const LINK = { ...SITE, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const HOST = { host: 'api.example' };
const from = (origin: string, headers: Headers = {}) => ({ ...HOST, origin, ...headers });

it.each<[string, string, Headers, boolean, Record<string, string>?]>([
  ['a client that is no browser', 'POST', {}, true],
  ['a page of the service', 'POST', from('https://api.example'), true],
  [
    'a page of the local service',
    'POST',
    from('http://a:1', { host: 'a:1', 'x-forwarded-proto': 'http' }),
    true,
  ],
  ['a page of the service without TLS', 'POST', from('http://api.example'), false],
  ['a page of another host', 'POST', from('https://evil.example'), false],
  [
    'a page whose web server replaces Host',
    'POST',
    from('https://client.example', { 'sec-fetch-site': 'same-origin' }),
    true,
  ],
  ['an extension', 'POST', from('chrome-extension://id', { 'sec-fetch-site': 'none' }), true],
  [
    'a page of another host of the site',
    'POST',
    from('https://other.example', { 'sec-fetch-site': 'same-site' }),
    false,
  ],
  [
    'a page of an allowed host of the site',
    'POST',
    from('https://b.example', { 'sec-fetch-site': 'same-site' }),
    true,
  ],
  ['two sites', 'POST', from('https://evil.example', { 'sec-fetch-site': 'none,none' }), false],
  ['a read of a page of another host', 'GET', from('https://evil.example'), true],
  ['an allowed origin in upper case', 'POST', from('HTTPS://B.EXAMPLE'), false],
  ['a host that begins like an allowed one', 'POST', from('https://b.example.evil'), false],
  ['two origins', 'POST', from('https://evil.example,https://b.example'), false],
  ['a form of another site', 'POST', { ...HOST, ...LINK }, false],
  ['a script of another site', 'GET', { ...SITE, 'sec-fetch-mode': 'cors' }, false],
  ['a link of another site', 'GET', LINK, true],
  ['a link of another site', 'HEAD', LINK, true],
  ['a frame of another site', 'GET', { ...LINK, 'sec-fetch-dest': 'iframe' }, false],
  ['a page of the edge', 'POST', from('https://edge.example'), true, { EDGE_HOST: 'edge.example' }],
  [
    'a page of the origin',
    'POST',
    from('https://api.example'),
    false,
    { EDGE_HOST: 'edge.example' },
  ],
  ['any page without origins', 'POST', from('https://b.example'), false, { CORS_ORIGINS: '' }],
])('%s: %s with %j is accepted: %s', (_, method, headers, isAccepted, environment = {}) => {
  vi.stubEnv('CORS_ORIGINS', 'https://a.example,https://b.example');
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const require = openCrossSitePolicy();
  vi.unstubAllEnvs();

  const check = () => require({ headers, requestContext: { http: { method } } } as never);

  if (isAccepted) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code: 'cross-site' }));
});
