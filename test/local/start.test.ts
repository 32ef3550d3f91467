import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { newFolder } from '../support/instance/folders.ts';
import { LONG } from '../support/instance/run-variables.ts';
import {
  isRunning,
  type Launched,
  launchStart,
  logIn,
  stopAll,
  urlOf,
} from '../support/instance/start-process.ts';

/* `npm start` as a developer runs it, with a state folder and a synthesis for each start. */

afterAll(stopAll);

async function start(folder: string): Promise<Launched & { url: string }> {
  const launched = launchStart({ STATE_DIR: folder });
  return { ...launched, url: await urlOf(launched) };
}

async function createUser(url: string, token: string, login: string): Promise<number> {
  const response = await fetch(`${url}/api/users`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({ login, email: `${login}@example.com` }),
  });
  return response.status;
}

const engineOf = (folder: string): number =>
  Number(JSON.parse(readFileSync(join(folder, 'processes.json'), 'utf8')).engine.split(':')[0]);

const engine = (url: string) => ({ STATE_DIR: ':memory:', AWS_ENDPOINT_URL_DYNAMODB: url });

describe('npm start', () => {
  const folder = newFolder();
  let service: Awaited<ReturnType<typeof start>>;

  it('prints its URL in the last line, and an example that works when pasted', async () => {
    service = await start(folder);
    const { lines, url } = service;

    const example = lines.slice(lines.indexOf('Try it:') + 1, -1).join('\n');
    const account = JSON.parse(execFileSync('bash', ['-c', example], { encoding: 'utf8' }));

    expect(lines.at(-1)).toBe(`Gatehouse is ready at ${url}`);
    expect(lines.join('\n')).toContain('admin (password admin; ROLE_ADMIN and ROLE_USER)');
    expect(account).toMatchObject({ login: 'admin', authorities: ['ROLE_ADMIN', 'ROLE_USER'] });
    expect(await logIn(url, 'user')).toBeTruthy();
  });

  it('prints one line for each request, without its query, and logs to a file', async () => {
    const from = service.lines.length;

    await fetch(`${service.url}/api/health?key=secret`);
    await service.line('GET    /api/health', from);
    await fetch(`${service.url}/unknown?key=secret`);
    await service.line('GET    /unknown', from);

    const printed = service.lines.slice(from).map((line) => line.split(/ +/).slice(0, 3));
    expect(printed).toEqual([
      ['GET', '/api/health', '200'],
      ['GET', '/unknown', '404'],
    ]);
    const readLog = () =>
      readFileSync(join(folder, 'functions.log'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    const logged = { route: 'GET /api/health', _aws: expect.anything() };
    // The file is written in the background.
    await expect.poll(readLog).toContainEqual(expect.objectContaining(logged));
    expect(service.lines.join('\n') + JSON.stringify(readLog())).not.toContain('secret');
  });

  it('injects the faults of the file in its state folder until that is removed', async () => {
    const file = join(folder, 'faults.json');
    writeFileSync(file, '[{"function": "GET /api/health", "fault": "error-before"}]');
    await service.line('Injecting faults from');
    const faulted = await fetch(`${service.url}/api/health`);
    // In one step: the file is read at any time.
    writeFileSync(`${file}.new`, '[{"function": "GET /nope", "fault": "lost"}]');
    renameSync(`${file}.new`, file);
    const rejection = await service.line('The faults are unchanged');
    rmSync(file);
    await service.line('Stopped injecting faults');
    const healthy = await fetch(`${service.url}/api/health`);

    expect([faulted.status, healthy.status]).toEqual([503, 200]);
    expect(rejection).toContain('0.function');
  });

  it('exits with status 1 when another instance uses the same data', async () => {
    const second = launchStart({ STATE_DIR: folder });

    expect(await second.ended).toBe(1);
    expect(second.lines.join('\n')).toMatch(
      /in use by a running Gatehouse \(process \d+\).*STATE_DIR/,
    );
  });

  if (LONG) {
    it('loses no acknowledged write when it is killed, and ends its engine later', async () => {
      const token = await logIn(service.url, 'admin');
      const get = (path: string) =>
        fetch(`${service.url}${path}`, { headers: { Authorization: `Bearer ${token}` } });
      const answered: string[] = [];
      const writing = (async () => {
        for (let number = 0; ; number++) {
          if ((await createUser(service.url, token, `written-${number}`)) === 201)
            answered.push(`written-${number}`);
        }
      })().catch(() => undefined);
      while (answered.length < 20) await new Promise((resolve) => setTimeout(resolve, 10));
      const orphan = engineOf(folder);

      service.child.kill('SIGKILL');
      await service.ended;
      await writing;
      service = await start(folder);

      expect(engineOf(folder)).not.toBe(orphan);
      expect(isRunning('pid', orphan)).toBe(false);
      // The token is still valid, because the signing keys are also kept.
      for (const login of answered)
        expect((await get(`/api/users/${login}`)).status, login).toBe(200);
      expect(service.lines.join('\n')).not.toContain('First start');
    });
  }

  it('stops itself and its engine on a signal', async () => {
    const engine = engineOf(folder);

    // Ctrl-C signals the whole process group, and npm forwards the signal once more.
    process.kill(-(service.child.pid as number), 'SIGINT');
    service.child.kill('SIGINT');

    expect(await service.ended).toBe(0);
    expect(isRunning('pid', engine)).toBe(false);
    expect(existsSync(join(folder, 'processes.json'))).toBe(false);
    expect(statSync(join(folder, 'keys.json')).mode & 0o777).toBe(0o600);
  });

  it.each<[string, Record<string, string>, string]>([
    [
      'a folder below a file',
      { STATE_DIR: join(import.meta.filename, 'state') },
      'Set STATE_DIR to another folder.',
    ],
    [
      'an engine without http://',
      engine('localhost:8000'),
      'No DynamoDB engine responds at localhost:8000',
    ],
    [
      'an engine that does not respond',
      engine('http://127.0.0.1:9'),
      'No DynamoDB engine responds at http://127.0.0.1:9',
    ],
  ])('exits with status 1 and one sentence for %s', async (_, environment, sentence) => {
    const rejected = launchStart(environment);

    expect(await rejected.ended).toBe(1);
    expect(rejected.lines.filter((line) => line !== 'Synthesizing the stack')).toEqual([
      expect.stringContaining(sentence),
    ]);
    await expect.poll(() => isRunning('group', rejected.child.pid as number)).toBe(false);
  });

  it('prints its help, and exits with status 2 for wrong arguments', async () => {
    const usage = 'Usage: npm start [-- --inspect PORT]';
    const help = launchStart({}, { options: ['--help'] });
    const wrong = [
      launchStart({}, { options: ['--port'] }),
      launchStart({}, { options: ['--inspect', 'x'] }),
      launchStart({ MAIL_LINK_BASE: 'localhost:4200/reset?key=' }),
    ];

    expect([await help.ended, help.lines[0]]).toEqual([0, usage]);
    const documented = [
      ...readFileSync('docs/settings.md', 'utf8').matchAll(/^\| `([A-Z_]+)` \| [^|]*`npm start`/gm),
    ];
    expect(documented.length).toBeGreaterThan(4);
    expect(
      documented.filter(([, name]) => !help.lines.some((line) => line.includes(` ${name} `))),
    ).toEqual([]);
    expect(await Promise.all(wrong.map(({ ended }) => ended))).toEqual([2, 2, 2]);
    expect(wrong.map(({ lines }) => lines)).toEqual([
      ["Unknown option '--port'.", usage],
      ['--inspect must be a number from 0 to 65535, not x.', usage],
      [
        'MAIL_LINK_BASE must be a URL that starts with http:// or https://, not ' +
          'localhost:4200/reset?key=.',
        usage,
      ],
    ]);
  });

  it('lets a debugger attach to its functions with --inspect', async () => {
    const inspected = launchStart({ STATE_DIR: ':memory:' }, { options: ['--inspect', '0'] });
    const [host] = /[\d.]+:\d+/.exec(await inspected.line('Debugger listening on ws')) ?? [];
    await urlOf(inspected);

    expect(await (await fetch(`http://${host}/json/list`)).json()).toMatchObject([
      { webSocketDebuggerUrl: expect.any(String) },
    ]);
  });

  it('exits with status 1 and names the port when it is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };

    const rejected = launchStart({ STATE_DIR: ':memory:', PORT: String(port) });

    expect(await rejected.ended).toBe(1);
    expect(rejected.lines.join('\n')).toContain(`Port ${port} is taken`);
    other.close();
  });
});

it('an engine ends with its owner, even before it is ready', async () => {
  const module = join(import.meta.dirname, '../../infra/local/aws/engine.ts');
  const owner = `
    const { startEngine } = await import(${JSON.stringify(module)});
    await startEngine({}, (pid) => { console.log(pid); process.exit(); }, () => {});`;

  const pid = Number(
    execFileSync(process.execPath, ['--input-type=module', '-e', owner], { encoding: 'utf8' }),
  );

  expect(pid).toBeGreaterThan(0);
  await expect.poll(() => isRunning('pid', pid)).toBe(false);
});
