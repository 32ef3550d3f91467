import type { PublicContract } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import { lambdaHandler, type Request } from './lambda-handler.ts';
import { type Event, isRead } from './request.ts';
import type { Response } from './response.ts';

/**
 * The Lambda handler of a row of routes.ts whose contract is public: anyone may call it without a
 * token, except browsers on behalf of the page of another site. Endpoints that require a token need
 * no such check, because that page has none.
 */
export function publicEndpoint<const C extends PublicContract>(
  contract: C,
  handle: (request: Request<C>) => Promise<Response>,
) {
  return lambdaHandler(contract, {
    requireAllowed: openCrossSitePolicy(),
    respondTo: async (readRequest) => handle(readRequest()),
  });
}

/** Where a navigation loads a document into a page, which may belong to another site. */
const EMBEDDED = new Set<string | undefined>(['embed', 'fencedframe', 'frame', 'iframe', 'object']);

/**
 * Returns the resource isolation policy (https://web.dev/articles/fetch-metadata): rejects requests
 * that a browser sends for a page of another site, unless its origin is allowed by CORS. CORS alone
 * prevents only that such a page reads the response. Links from elsewhere work, and so do clients
 * that are no browsers and send none of these headers.
 */
export function openCrossSitePolicy(): (event: Event) => void {
  // Behind an edge, Host is the name of its origin server, which browsers do not know.
  const { CORS_ORIGINS, EDGE_HOST } = process.env;
  const allowedOrigins = new Set<string | undefined>(CORS_ORIGINS?.split(','));
  return (event) => {
    const { headers } = event;
    const { origin, 'sec-fetch-site': site } = headers;
    // No page can forge what its browser says. Origin need not match: a proxy in front of the
    // service may have replaced Host.
    if (site === 'same-origin' || site === 'none') return;
    if (allowedOrigins.has(origin)) return;
    const isFollowedLink =
      isRead(event) &&
      headers['sec-fetch-mode'] === 'navigate' &&
      !EMBEDDED.has(headers['sec-fetch-dest']);
    if (site === 'cross-site' && !isFollowedLink) throw new Failure('cross-site');
    // Browsers without Sec-Fetch-Site send Origin, and so do pages of other hosts of the same site.
    if (!isRead(event) && origin !== undefined && origin !== ownOrigin(headers, EDGE_HOST))
      throw new Failure('cross-site');
  };
}

/** API Gateway replaces X-Forwarded-Proto, and so does the local one, which alone has no TLS. */
function ownOrigin(headers: Event['headers'], edgeHost: string | undefined): string {
  const scheme = headers['x-forwarded-proto'] === 'http' ? 'http' : 'https';
  return `${scheme}://${edgeHost ?? headers.host}`;
}
