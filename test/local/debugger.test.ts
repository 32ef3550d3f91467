import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, inject, it } from 'vitest';
import { LONG } from '../support/instance/run-variables.ts';
import { launchStart, newFolder, stopAll, urlOf } from '../support/instance/start-process.ts';

/*
 * Attaches to `npm start` as a debugger does: through the inspector protocol, to the worker thread
 * of a function.
 */

afterAll(stopAll);

/** Without a debugger, functions end after ten seconds. */
const PAUSE_MS = LONG ? 11_000 : 0;

interface Message {
  readonly method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the parameters differ by method
  readonly params: any;
}

/**
 * Opens a session whose breakpoint in each worker is set before its code runs. Resolves once it has
 * paused one.
 */
async function pauseAt(inspector: string, urlRegex: string, lineNumber: number) {
  const [target] = (await (await fetch(`${inspector}/json/list`)).json()) as [
    { webSocketDebuggerUrl: string },
  ];
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  let id = 0;
  const send = (method: string, params: object) =>
    socket.send(JSON.stringify({ id: ++id, method, params }));
  const sendToWorker = (sessionId: string, method: string, params: object = {}) =>
    send('NodeWorker.sendMessageToWorker', {
      sessionId,
      message: JSON.stringify({ id: ++id, method, params }),
    });

  const paused = new Promise<{ frame: Message['params']; resume: () => void }>((resolve) => {
    socket.addEventListener('message', ({ data }) => {
      const { method, params }: Message = JSON.parse(data);
      if (method === 'NodeWorker.attachedToWorker') {
        sendToWorker(params.sessionId, 'Debugger.enable');
        sendToWorker(params.sessionId, 'Debugger.setBreakpointByUrl', { urlRegex, lineNumber });
        sendToWorker(params.sessionId, 'Runtime.runIfWaitingForDebugger');
      }
      if (method !== 'NodeWorker.receivedMessageFromWorker') return;
      const message: Message = JSON.parse(params.message);
      if (message.method !== 'Debugger.paused') return;
      const resume = () => sendToWorker(params.sessionId, 'Debugger.resume');
      // A worker that waited for the debugger first pauses before its first line.
      if (message.params.hitBreakpoints.length === 0) resume();
      else resolve({ frame: message.params.callFrames[0], resume });
    });
  });
  const enabled = new Promise<void>((resolve) => {
    const enabling = id + 1;
    socket.addEventListener('message', ({ data }) => JSON.parse(data).id === enabling && resolve());
  });
  send('NodeWorker.enable', { waitForDebuggerOnStart: true });
  // A worker that starts earlier would not wait.
  await enabled;
  return { paused, close: () => socket.close() };
}

it('pauses a function at a breakpoint, and ends with the second Ctrl-C', async () => {
  const folder = newFolder();
  const service = launchStart({ STATE_DIR: folder }, { options: ['--inspect', '0'] });
  const listening = await service.line('Debugger listening on ws://');
  const url = await urlOf(service);
  const bundle = join(folder, 'assemblies/1/bundles/get-info/index.mjs');
  const line = readFileSync(bundle, 'utf8')
    .split('\n')
    .findIndex((text) => text.includes('ok(infoOf('));

  const inspector = listening.replace(/.*ws:\/\/([^/]+).*/, 'http://$1');
  const session = await pauseAt(inspector, 'get-info/index\\.mjs$', line);
  const answering = fetch(`${url}/management/info`);
  const { frame, resume } = await session.paused;
  await wait(PAUSE_MS);
  resume();
  const response = await answering;
  session.close();
  const other = await pauseAt(inspector, 'get-openapi/index\\.mjs$', 0);
  void fetch(`${url}/api/openapi.json`).catch(() => undefined);
  await other.paused;
  service.child.kill('SIGINT');
  await service.line('Stopping: SIGINT');
  // npm forwards the first signal, so only a later one is a second Ctrl-C.
  await wait(1100);
  service.child.kill('SIGINT');
  const hasEnded = await Promise.race([
    service.ended.then(() => true),
    wait(240_000, false, { ref: false }),
  ]);
  if (!hasEnded) service.child.kill('SIGKILL');
  other.close();

  expect(hasEnded).toBe(true);
  expect(frame.location.lineNumber).toBe(line);
  expect(response.status).toBe(200);
  const { sourceRoot, sources } = JSON.parse(readFileSync(`${bundle}.map`, 'utf8'));
  expect(sources.map((source: string) => `${sourceRoot}${source}`)).toContain(
    pathToFileURL(realpathSync(join(inject('repository'), 'functions/get-info.ts'))).href,
  );
});
