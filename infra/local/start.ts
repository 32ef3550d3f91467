import { defineCommand, WrongArguments } from '../commands/define-command.ts';
import { isHttpUrl } from '../settings/setting.ts';

/** Keep little garbage (docs/adr/0003). V8 and the allocator read them when a process starts. */
const MEMORY_FLAGS = ['--max-semi-space-size=2', '--heap-growing-percent=30'] as const;
const MEMORY_VARIABLES = { MALLOC_ARENA_MAX: '2' };

/** `npm start`: synthesizes the stack, runs it, and reloads it when its source changes. */
export const command = defineCommand({
  usage: 'npm start [-- --inspect PORT]',
  help: `Runs the service on this machine until Ctrl-C, and reloads it when its source changes.

Options:
  --inspect PORT  listen for a debugger on this port of 127.0.0.1; functions then have no timeouts

Environment variables; an invalid value is treated like a wrong argument:
  PORT                       the port to listen on; default 3000; 0 chooses a free port
  STATE_DIR                  the folder for data and keys; default .local; :memory: keeps nothing
  AWS_ENDPOINT_URL_DYNAMODB  the URL of a DynamoDB engine to use instead of the embedded one
  MAIL_LINK_BASE             the page that sets a password by a mailed link; default: the
                             page in the settings, or else of the console
  TRANSPORT                  minimal or sdk: what functions call AWS with; default minimal

The settings are in environments/dev.json, or else in examples/environments/dev.json.`,
  options: { inspect: { type: 'string' } },
  statuses: {
    stopped: [0, 'it was stopped'],
    failed: [1, 'it cannot start'],
  },
  async run({ values: { inspect } }) {
    const { PORT = '3000', MAIL_LINK_BASE: mailLinkBase } = process.env;
    const inspectPort = inspect === undefined ? undefined : portOf('--inspect', inspect);
    const port = portOf('PORT', PORT);
    if (mailLinkBase && !isHttpUrl(mailLinkBase))
      throw new WrongArguments(
        'MAIL_LINK_BASE must be a URL that starts with http:// or https://, ' +
          `not ${mailLinkBase}.`,
      );
    const { argv, env, execArgv, execPath } = process;
    if (!execArgv.includes(MEMORY_FLAGS[0]))
      process.execve?.(execPath, [execPath, ...execArgv, ...MEMORY_FLAGS, ...argv.slice(1)], {
        ...env,
        ...MEMORY_VARIABLES,
      });
    const { runService } = await import('./run-service.ts');
    return runService({ port, inspectPort, mailLinkBase });
  },
});

function portOf(name: string, value: string): number {
  const number = Number(value);
  if (/^\d+$/.test(value) && number <= 65_535) return number;
  throw new WrongArguments(`${name} must be a number from 0 to 65535, not ${value}.`);
}
