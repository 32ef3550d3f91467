import type { IncomingMessage } from 'node:http';

const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1)(:\d+)?$/i;

/**
 * Why a request is rejected whose `Host` is another name. A web page can make its own name resolve
 * to this machine (DNS rebinding), and the browser would then let it read every response.
 */
export function foreignHost({ headers: { host } }: IncomingMessage): string | undefined {
  if (host === undefined || LOOPBACK_HOST.test(host)) return undefined;
  return `The local cloud responds as localhost and 127.0.0.1 only, not as ${host}`;
}

/** The path of SES's operation SendEmail; other operations name themselves in a header. */
export const SEND_MAIL = '/v2/email/outbound-emails';

export const isAwsCall = ({ url, headers }: IncomingMessage): boolean =>
  url === SEND_MAIL || 'x-amz-target' in headers;
