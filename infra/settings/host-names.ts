import * as v from 'valibot';
import { matching, setting } from './setting.ts';

/* The names under which clients reach the API, and the origins whose pages may call it. */

export const hostName = (meaning: string, example: string) =>
  setting(
    meaning,
    matching(
      /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+([a-z]{2,63}|xn--[a-z0-9-]{1,59})$/,
      'must be a host name in lower case',
    ),
    { example },
  );

const EXAMPLE_ID = '12345678-1234-1234-1234-123456789012';

export const certificate = (meaning: string, region: string) =>
  setting(
    meaning,
    matching(
      /^arn:[\w-]+:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/,
      'must be the ARN of a certificate in ACM',
    ),
    { example: `arn:aws:acm:${region}:123456789012:certificate/${EXAMPLE_ID}` },
  );

/** The host name that clients use; undefined if it is API Gateway's. */
export const publicHostName = ({
  domain,
  edge,
}: {
  readonly domain?: { readonly name: string } | undefined;
  readonly edge?: { readonly hostName: string } | undefined;
}): string | undefined => edge?.hostName ?? domain?.name;

/** ACM renews a certificate of its own before that, if it can. */
export const EXPIRY_NOTICE_DAYS = 30;

export const hostNameSettings = {
  domain: v.optional(
    setting(
      'A [host name of your own](deploying.md#a-host-name-of-your-own). The URL of API ' +
        'Gateway is then disabled. If it is not set, that URL is the only one.',
      v.strictObject({
        name: hostName(
          'The host name of the API; with `edge`, of its origin.',
          'gatehouse.example.com',
        ),
        certificate: certificate(
          'The certificate for the host name, in the same region.',
          'eu-central-1',
        ),
      }),
    ),
  ),
  corsOrigins: v.optional(
    setting(
      'The origins whose pages may call the API. If the list is empty, browsers block all ' +
        'cross-origin calls; [a client on another origin](#a-client-on-another-origin) explains ' +
        'how to add one. With `edge.hostName`, `issuers` and `moduleIssuers`, they may have ' +
        '2,500 bytes.',
      v.array(
        v.pipe(
          v.string(),
          v.check(
            // API Gateway takes https://* for every origin, and a URL may contain an asterisk.
            (origin) => URL.parse(origin)?.origin === origin && !origin.includes('*'),
            'must be a scheme and a host in lower case, without a path, a trailing slash, a ' +
              'default port or a wildcard, such as https://admin.example.com',
          ),
        ),
      ),
      { example: ['https://admin.example.com'] },
    ),
    [],
  ),
};
