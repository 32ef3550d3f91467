import { createViteServer } from 'vitest/node';
import type { Gatehouse } from './launch.ts';

type Proxied = Record<string, { readonly target: string; readonly changeOrigin: boolean }>;

/** The web server of a client, which hands requests on to the service. */
export interface ReverseProxy {
  readonly url: string;
  /** Sends what Chromium sends for a page of this web server. */
  readonly call: Gatehouse['call'];
  stop(): Promise<void>;
}

/** Starts vite's development server, which replaces `Host` as nginx and CloudFront do. */
export async function startReverseProxy(
  gatehouse: Gatehouse,
  proxied: Proxied = handingOn(['/api', '/management'], gatehouse.cloud.url),
): Promise<ReverseProxy> {
  const server = await createViteServer({
    configFile: false,
    envDir: false,
    appType: 'custom',
    optimizeDeps: { noDiscovery: true },
    server: { host: '127.0.0.1', port: 0, ws: false, watch: null, proxy: proxied },
  });
  await server.listen();
  const { origin: url } = new URL(server.resolvedUrls?.local[0] as string);
  return {
    url,
    call: (method, path, sent = {}) =>
      gatehouse.call(method, path, {
        ...sent,
        via: url,
        headers: {
          ...(method !== 'GET' && { Origin: url }),
          Referer: `${url}/`,
          'Sec-Fetch-Site': 'same-origin',
          'Sec-Fetch-Mode': 'cors',
          'Sec-Fetch-Dest': 'empty',
          ...sent.headers,
        },
      }),
    stop: () => server.close(),
  };
}

export const handingOn = (paths: readonly string[], target: string): Proxied =>
  Object.fromEntries(paths.map((path) => [path, { target, changeOrigin: true }]));
