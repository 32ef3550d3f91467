import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import * as v from 'valibot';
import { email } from '../../../lib/users/user-schema.ts';
import { isHttpUrl } from '../../settings/http-url.ts';
import {
  exitOnSignal,
  finish,
  print,
  printError,
  readArguments,
  rejectArguments,
  WRONG_ARGUMENTS,
} from '../command-line.ts';
import { Deployment } from './deployment.ts';
import { smokeTest } from './smoke-test.ts';

/*
 * `npm run smoke`: checks a deployed environment over HTTP, with the account of an administrator.
 */

// Exit status.
const FAILED = 1;

const COMMAND = {
  usage: 'npm run smoke -- --url URL [--mail ADDRESS] [--origin ORIGIN] [--past-edge URL]',
  help: `Checks a deployed environment: logs in, uses every route, and deletes the user and the integration that it has
created for this. Prints one line for each check. What a failed run leaves is deleted by the next one; run one at a time.

--url URL         the URL of the API, which the deployment prints as Url
--mail ADDRESS    also sends an invitation to this address, of which no user may exist, and asks for its link
--origin ORIGIN   also checks that pages of this origin, one of corsOrigins, may call the API
--past-edge URL   also checks that the API rejects requests past its edge, at the URL of domain.name

Environment
  SMOKE_LOGIN     the login of an activated user with ROLE_ADMIN
  SMOKE_PASSWORD  the password
Both are asked for if they are not set. The password is sent to the URL only.

Exit status
  0  all checks have passed
  ${FAILED}  a check has failed
  ${WRONG_ARGUMENTS}  wrong arguments

docs/deploying.md explains what the checks prove.`,
  options: {
    url: { type: 'string' },
    mail: { type: 'string' },
    origin: { type: 'string' },
    'past-edge': { type: 'string' },
  },
} as const;

/**
 * The lines of standard input without a terminal: one interface for all questions, because it reads
 * ahead.
 */
let pipedLines: AsyncIterator<string> | undefined;

const { url, mail, origin, pastEdge } = readOptions();
exitOnSignal(FAILED);
const login = required('SMOKE_LOGIN', process.env.SMOKE_LOGIN || (await ask('Login: ')));
const password = required(
  'SMOKE_PASSWORD',
  process.env.SMOKE_PASSWORD || (await ask('Password: ', true)),
);
const invitation =
  mail === undefined
    ? undefined
    : { address: mail, askForLink: () => ask(`Link in the mail to ${mail}: `) };
let [passed, failed] = [0, 0];

print(`Checking ${url}`);
await smokeTest(
  new Deployment(url),
  { login, password, invitation, origin, pastEdge },
  ({ name, failure }) => {
    if (failure === undefined) passed++;
    else failed++;
    print(failure === undefined ? `ok    ${name}` : `FAIL  ${name}: ${failure}`);
  },
);
print(`${passed} passed, ${failed} failed`);
await finish(failed === 0 ? 0 : FAILED);

function readOptions() {
  const { url, mail, origin, 'past-edge': pastEdge } = readArguments(COMMAND).values;
  const { protocol, hostname } = (url && URL.parse(url)) || {};
  const isLocal = hostname === '127.0.0.1' || hostname === 'localhost';
  if (!url) return rejectArguments('--url is missing.', COMMAND);
  if (protocol !== 'https:' && !(protocol === 'http:' && isLocal))
    return rejectArguments(
      '--url must start with https://, because a password is sent to it.',
      COMMAND,
    );
  if (mail !== undefined && !v.is(email, mail))
    return rejectArguments('--mail must be an e-mail address.', COMMAND);
  if (origin !== undefined && !(isHttpUrl(origin) && URL.parse(origin)?.origin === origin))
    return rejectArguments(
      '--origin must be an origin, such as https://admin.example.com.',
      COMMAND,
    );
  if (pastEdge !== undefined && !isHttpUrl(pastEdge))
    return rejectArguments(
      '--past-edge must be a URL that starts with https:// or http://.',
      COMMAND,
    );
  if (hasCredentials(url) || (pastEdge !== undefined && hasCredentials(pastEdge)))
    return rejectArguments(
      '--url and --past-edge must not contain credentials, because they are printed.',
      COMMAND,
    );
  return { url, mail, origin, pastEdge: pastEdge ? new Deployment(pastEdge) : undefined };
}

function hasCredentials(url: string): boolean {
  const { username, password } = new URL(url);
  return username !== '' || password !== '';
}

function required(name: string, value: string): string {
  return value || rejectArguments(`${name} is missing.`, COMMAND);
}

/**
 * Asks for one line; without a terminal, reads it from standard input without a prompt. Empty if
 * there is none.
 */
async function ask(question: string, isSecret = false): Promise<string> {
  if (process.stdin.isTTY) return askOnTerminal(question, isSecret);
  pipedLines ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const { value = '' } = await pipedLines.next();
  return value.trim();
}

async function askOnTerminal(question: string, isSecret: boolean): Promise<string> {
  process.stderr.write(question);
  // An interface with this output does not show what is typed.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = isSecret ? nowhere : process.stderr;
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  const noInput = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  const answer = await Promise.race([lines.question(''), noInput]);
  lines.close();
  if (isSecret) printError('');
  return answer.trim();
}
