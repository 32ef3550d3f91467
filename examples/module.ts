import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

/*
 * A module that runs what it is wanted to run:
 *
 *   GATEHOUSE_CLIENT_ID=… GATEHOUSE_CLIENT_SECRET=… npx node examples/module.ts
 *
 * Without a secret, it authenticates itself with the token of the platform on which it runs:
 * docs/modules.md says how.
 */

/** What a module remembers between its polls; nothing of it needs to survive a restart. */
export interface Module {
  readonly url: string;
  /** Is read for each token, so that another credential takes effect without a restart. */
  readonly credential: () => { readonly clientId: string; readonly clientSecret?: string };
  /** Applies a configuration, or throws and leaves the former one running. */
  readonly apply: (configuration: Configuration) => Promise<void>;
  token?: string | undefined;
  /** The ETag of the last configuration that was read. */
  held?: string | undefined;
  running: number;
  failed?: number | undefined;
}

interface Configuration {
  readonly integration: { readonly name: string; readonly active: boolean };
  readonly parameters: readonly { readonly confName: string; readonly confValue: string }[];
  readonly module: { readonly wanted: number };
}

/** Polls once: says what runs, and applies what is wanted if that is another number. */
export async function poll(module: Module): Promise<void> {
  module.token ??= await requestToken(module);
  const { failed, running, held } = module;
  const response = await call(module, 'module', {
    headers: {
      'Gatehouse-Running': failed === undefined ? `${running}` : `${running};failed=${failed}`,
      ...(held && { 'If-None-Match': held }),
    },
  });
  // The token has expired, or its credential was deleted: the next poll requests another one.
  if (response.status === 401) module.token = undefined;
  if (response.status === 304 || response.status === 401) return;
  if (!response.ok) throw new Error(`The poll is rejected: ${await response.text()}`);
  const configuration = (await response.json()) as Configuration;
  const { wanted } = configuration.module;
  module.held = response.headers.get('ETag') ?? undefined;
  try {
    await module.apply(configuration);
    [module.running, module.failed] = [wanted, undefined];
  } catch (error) {
    module.failed = wanted;
    const [reason] = String(error).toWellFormed().split(/\s*\n/);
    const body = JSON.stringify({ running, failed: wanted, reason: reason?.slice(0, 200) });
    const headers = { 'Content-Type': 'application/json' };
    await call(module, 'module/report', { method: 'POST', headers, body });
  }
}

function call({ url, token, credential }: Module, path: string, init: RequestInit) {
  const [, integration] = credential().clientId.split('-');
  return fetch(`${url}/api/utm-integrations/${integration}/${path}`, {
    ...init,
    headers: { ...init.headers, Authorization: `Bearer ${token}` },
  });
}

/** With a secret, any OAuth library does as well. */
async function requestToken({ url, credential }: Module): Promise<string> {
  const { clientId: client_id, clientSecret: client_secret } = credential();
  const grant: Record<string, string> = client_secret
    ? { grant_type: 'client_credentials', client_secret }
    : {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: await platformToken(),
      };
  const response = await fetch(`${url}/api/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({ client_id, ...grant }),
  });
  const { access_token, error } = (await response.json()) as Record<string, string>;
  if (!response.ok) throw new Error(`No token: ${error}`);
  return String(access_token);
}

/** What Kubernetes, GitHub Actions or AWS states about this process. Nothing is stored. */
async function platformToken(): Promise<string> {
  const { GATEHOUSE_TOKEN_FILE: file, GATEHOUSE_AUDIENCE: audience = '' } = process.env;
  // Kubernetes replaces the file before its token expires.
  if (file) return (await readFile(file, 'utf8')).trim();
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = process.env;
  if (url) {
    const headers = { Authorization: `Bearer ${bearer}` };
    const response = await fetch(`${url}&audience=${encodeURIComponent(audience)}`, { headers });
    if (!response.ok) throw new Error(`No token of GitHub: ${response.status}`);
    return ((await response.json()) as { readonly value: string }).value;
  }
  const request = ['sts', 'get-web-identity-token', '--audience', audience];
  const options = ['--signing-algorithm', 'RS256', '--query', 'WebIdentityToken'];
  const args = [...request, ...options, '--output', 'text'];
  return (await promisify(execFile)('aws', args)).stdout.trim();
}

if (import.meta.main) {
  const { GATEHOUSE_URL: url = 'http://127.0.0.1:3000', GATEHOUSE_CLIENT_ID: clientId = '' } =
    process.env;
  const { GATEHOUSE_CLIENT_SECRET: clientSecret } = process.env;
  // Names only: values are secrets.
  const apply = async ({ integration, parameters, module }: Configuration) =>
    console.log(
      module.wanted,
      integration,
      parameters.map(({ confName }) => confName),
    );
  const credential = () => ({ clientId, ...(clientSecret && { clientSecret }) });
  const module: Module = { url, credential, apply, running: 0 };
  for (;;) {
    // What fails, such as the network, is tried again.
    await poll(module).catch((error) => console.error(String(error)));
    await wait(5000);
  }
}
