import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import * as v from 'valibot';
import { email } from '../../../lib/users/user-schema.ts';
import { isHttpUrl } from '../../settings/http-url.ts';
import { print, printError } from '../command-line.ts';
import { defineCommand, WrongArguments } from '../define-command.ts';
import { Deployment } from './deployment.ts';
import { smokeTest } from './smoke-test.ts';

/** `npm run smoke`: checks a deployed environment over HTTP, as an administrator. */
export const command = defineCommand({
  usage: 'npm run smoke -- --url URL [--mail ADDRESS] [--origin ORIGIN] [--past-edge URL]',
  help: `Checks a deployed environment: logs in, uses every route, and deletes the user and the
integration that it has created for this. Prints one line for each check. What a failed run leaves
is deleted by the next one; run one at a time.

--url URL         the URL of the API, which the deployment prints as Url
--mail ADDRESS    also sends an invitation to this address, of which no user may exist, and asks for
                  its link
--origin ORIGIN   also checks that pages of this origin, one of corsOrigins, may call the API
--past-edge URL   also checks that the API rejects requests past its edge, at the URL of domain.name

Environment
  SMOKE_LOGIN     the login of an activated user with ROLE_ADMIN
  SMOKE_PASSWORD  the password
Both are asked for if they are not set. The password is sent to the URL only.`,
  options: {
    url: { type: 'string' },
    mail: { type: 'string' },
    origin: { type: 'string' },
    'past-edge': { type: 'string' },
  },
  required: ['url'],
  statuses: { passed: [0, 'all checks have passed'], failed: [1, 'a check has failed'] },
  seeAlso: 'docs/deploying.md explains what the checks prove.',
  async run({ values: { url, mail, origin, 'past-edge': pastEdge } }) {
    const { protocol, hostname } = URL.parse(url) ?? {};
    const isLocal = hostname === '127.0.0.1' || hostname === 'localhost';
    const require = (isValid: boolean, sentence: string) => {
      if (!isValid) throw new WrongArguments(sentence);
    };
    require(protocol === 'https:' ||
      (protocol === 'http:' &&
        isLocal), '--url must start with https://, because a password is sent to it.');
    require(!mail || v.is(email, mail), '--mail must be an e-mail address.');
    require(!origin ||
      (isHttpUrl(origin) &&
        URL.parse(origin)?.origin ===
          origin), '--origin must be an origin, such as https://admin.example.com.');
    require(!pastEdge ||
      isHttpUrl(pastEdge), '--past-edge must be a URL that starts with https:// or http://.');
    require(![url, pastEdge].some(
      hasCredentials,
    ), '--url and --past-edge must not contain credentials, because they are printed.');
    const options = {
      login: await variable('SMOKE_LOGIN', () => ask('Login: ')),
      password: await variable('SMOKE_PASSWORD', () => ask('Password: ', true)),
      invitation: mail
        ? { address: mail, askForLink: () => ask(`Link in the mail to ${mail}: `) }
        : undefined,
      origin,
      pastEdge: pastEdge ? new Deployment(pastEdge) : undefined,
    };
    print(`Checking ${url}`);
    let [passed, failed] = [0, 0];
    await smokeTest(new Deployment(url), options, ({ name, failure }) => {
      if (failure === undefined) passed++;
      else failed++;
      print(failure === undefined ? `ok    ${name}` : `FAIL  ${name}: ${failure}`);
    });
    print(`${passed} passed, ${failed} failed`);
    return failed === 0 ? 'passed' : 'failed';
  },
});

function hasCredentials(url: string | undefined): boolean {
  const { username, password } = URL.parse(url ?? '') ?? {};
  return Boolean(username || password);
}

/** The value of a variable, or of its question if it is not set. */
async function variable(name: string, question: () => Promise<string>): Promise<string> {
  const value = process.env[name] || (await question());
  if (!value) throw new WrongArguments(`${name} is missing.`);
  return value;
}

/**
 * The lines of standard input without a terminal: one interface for all questions, because it reads
 * ahead.
 */
let pipedLines: AsyncIterator<string> | undefined;

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
