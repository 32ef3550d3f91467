import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyRepository, SOURCES } from '../support/commands/run-command.ts';
import { newFolder } from '../support/instance/folders.ts';
import {
  type Launched,
  launchStart,
  logIn,
  stopAll,
  urlOf,
} from '../support/instance/start-process.ts';

/* `npm start` while its source changes, in a copy of the repository. */

/** A reload takes one second; a busy machine needs longer. */
const PRINTED_WITHIN_MS = 240_000;
const INFO = 'lib/operations/status/status-contracts.ts';
const HANDLER = 'functions/get-info.ts';
/** A part of all functions. */
const SHARED = 'lib/http/lambda-handler.ts';

const root = newFolder();
let service: Launched;
let url: string;
let token: string;
beforeAll(async () => {
  copyRepository(root);
  service = launchStart({ STATE_DIR: ':memory:' }, { root });
  url = await urlOf(service);
  token = await logIn(url, 'admin');
});
afterAll(stopAll);

const sourceOf = (file: string): string => readFileSync(join(root, file), 'utf8');
const withProfile = (name: string): string =>
  sourceOf(INFO).replace(/activeProfiles: \['\w+'\]/, `activeProfiles: ['${name}']`);

/** Replaces a file as git and many editors do. */
function replaceByRename(file: string, text: string): void {
  writeFileSync(join(root, `${file}.new`), text);
  renameSync(join(root, `${file}.new`), join(root, file));
}

/** Waits for the line about the end of the reload that this change causes. */
async function afterReload(change: () => void): Promise<void> {
  const from = service.lines.length;
  change();
  await printed('reloaded in', from);
}

async function printed(text: string, from: number): Promise<void> {
  const isPrinted = service.line(text, from).then(() => true);
  const soon = wait(PRINTED_WITHIN_MS, false, { ref: false });
  expect(await Promise.race([isPrinted, soon]), `whether it prints ${text}`).toBe(true);
}

const profile = async (): Promise<string> =>
  ((await (await fetch(`${url}/management/info`)).json()) as { activeProfiles: [string] })
    .activeProfiles[0];
const getAccount = () =>
  fetch(`${url}/api/account`, { headers: { Authorization: `Bearer ${token}` } });
/** Whatever the settings of the machine are. */
const GIT_OPTIONS = [
  'user.name=Test',
  'user.email=test@example.com',
  'commit.gpgSign=false',
  'core.hooksPath=/dev/null',
].flatMap((setting) => ['-c', setting]);
const git = (...args: string[]) => execFileSync('git', [...GIT_OPTIONS, ...args], { cwd: root });

it('a service with STATE_DIR=:memory: has no folder for its data', () => {
  expect(service.lines).toContain('All data is in memory and will be lost when the service stops');
  expect(existsSync(join(root, ':memory:'))).toBe(false);
});

describe('a change of the source', () => {
  it('takes effect with each switch to another branch', async () => {
    git('init', '--quiet', '--initial-branch=one');
    git('add', ...SOURCES);
    git('commit', '--quiet', '--message=One');
    git('checkout', '--quiet', '-b', 'two');
    await afterReload(() => replaceByRename(INFO, withProfile('two')));
    git('commit', '--quiet', '--all', '--message=Two');

    const profiles: string[] = [];
    for (const branch of ['one', 'two', 'one']) {
      await afterReload(() => git('checkout', '--quiet', branch));
      profiles.push(await profile());
    }

    expect(profiles).toEqual(['prod', 'two', 'prod']);
  });

  it('is announced, and requests during the reload are answered by the new code', async () => {
    const from = service.lines.length;
    replaceByRename(SHARED, sourceOf(SHARED).replace("'no-referrer'", "'same-origin'"));
    await service.line(`Changed ${SHARED}: reloading`, from);

    const reloadedBefore = service.lines.slice(from).some((line) => line.includes('reloaded in'));
    const responses = await Promise.all([fetch(`${url}/management/info`), getAccount()]);

    expect(reloadedBefore).toBe(false);
    expect(
      responses.map(({ status, headers }) => [status, headers.get('Referrer-Policy')]),
    ).toEqual([
      [200, 'same-origin'],
      [200, 'same-origin'],
    ]);
  });

  it('of the console is served under a new name', async () => {
    const page = async () => (await fetch(`${url}/console`)).text();
    const styleIn = (text: string) => /href="(\S+\.css)"/.exec(text)?.[1] as string;
    const before = styleIn(await page());
    await afterReload(() =>
      replaceByRename('console/style.css', `${sourceOf('console/style.css')} .changed { top: 0 }`),
    );
    const after = styleIn(await page());

    expect(after).not.toBe(before);
    expect(await (await fetch(`${url}${after}`)).text()).toContain('.changed');
    expect((await fetch(`${url}${before}`)).status).toBe(404);
  });

  it('that is invalid leaves the previous version running until it is corrected', async () => {
    const valid = withProfile('valid');
    const from = service.lines.length;
    replaceByRename(INFO, `${valid}const = ;`);
    await service.line('Still running the previous version', from);
    const during = await profile();
    await afterReload(() => replaceByRename(INFO, valid));

    expect([during, await profile()]).toEqual(['prod', 'valid']);
  });

  it('that leaves a file without valid JSON is rejected with its name', async () => {
    const from = service.lines.length;
    const valid = sourceOf('environments/dev.json');
    replaceByRename('environments/dev.json', '{');
    await service.line('Still running the previous version', from);
    expect(service.lines.slice(from).join('\n')).toMatch(/environments\/dev\.json: .*JSON/);
    await afterReload(() => replaceByRename('environments/dev.json', valid));

    expect(await profile()).toBe('valid');
    expect((await getAccount()).status).toBe(200);
  });
});

describe('an unexpected error', () => {
  it('is printed with its message, stack and source line, while the response is bare', async () => {
    const defect =
      "export const handler = publicEndpoint(GetInfo, async () => {\n  throw new RangeError('Too far');\n});";
    await afterReload(() =>
      replaceByRename(HANDLER, sourceOf(HANDLER).replace(/export const handler.*/, defect)),
    );
    const from = service.lines.length;

    const response = await fetch(`${url}/management/info`);
    const text = await response.text();
    await printed('^', from);

    const lines = service.lines.slice(from);
    const start = lines.indexOf('GET /management/info failed: RangeError: Too far');
    expect([response.status, text.includes('Too far')]).toEqual([500, false]);
    expect(lines[start + 1]).toBe(`    at ${HANDLER}:10:9`);
    expect(lines.slice(lines.indexOf('', start) + 1).slice(0, 3)).toEqual([
      `${HANDLER}:10`,
      "  throw new RangeError('Too far');",
      `${' '.repeat(8)}^`,
    ]);
    expect(lines.filter((line) => /^ +at .*(node:|function-worker|index\.mjs)/.test(line))).toEqual(
      [],
    );
  });
});

it('a service ends with status 0 when its terminal is closed', async () => {
  service.child.kill('SIGHUP');

  expect(await service.ended).toBe(0);
});
