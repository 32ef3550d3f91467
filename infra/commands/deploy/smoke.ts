import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Build } from '../../../lib/operations/status/status-contracts.ts';
import { print, printError } from '../command-line.ts';
import { defineCommand, WrongArguments } from '../define-command.ts';
import { authenticator } from './authenticator.ts';
import { Checks } from './smoke-checks.ts';
import * as rows from './smoke-rows.ts';

export const command = defineCommand({
  usage: 'npm run admin -- smoke --url URL [--mail ADDRESS] [--origin ORIGIN] [--past-edge URL]',
  help: `Checks a deployed environment: logs in, uses every route, and deletes the user and the
integration that it creates for this. Run one at a time: it also deletes what an interrupted run has
left.

--url URL         the URL of the API, which the deployment prints as Url
--mail ADDRESS    also sends an invitation to this address, of which no user may exist, and asks for
                  its link
--origin ORIGIN   also checks that pages of this origin, one of corsOrigins, may call the API
--past-edge URL   also checks that the API rejects requests past its edge, at the URL of domain.name

Environment
  SMOKE_LOGIN     the login of an activated user with ROLE_ADMIN
  SMOKE_PASSWORD  the password, followed by a code if the user has a second factor
  SMOKE_SECRET    instead of that code, the secret of the second factor, for unattended runs
Login and password are asked for if they are not set. The password is sent to the URL only.`,
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
    if (!/^(https:.*|http:\/\/(127\.0\.0\.1|localhost)(:\d+)?)$/.test(originOf(url)))
      throw new WrongArguments('--url must start with https://, because a password is sent to it.');
    if (origin && originOf(origin) !== origin)
      throw new WrongArguments('--origin must be an origin, such as https://admin.example.com.');
    const login = await variable('SMOKE_LOGIN', () => ask('Login: '));
    const password = await variable('SMOKE_PASSWORD', () => ask('Password: ', true));
    print(`Checking ${url}`);
    const checks = new Checks(url, rows.known(mail));
    await checks.run(rows.FRONT);
    await checks.run(rows.consoleFiles(checks));
    if (pastEdge) await checks.run(rows.pastEdge(pastEdge));
    if (origin) await checks.run(rows.forPagesOf(origin));
    const secret = process.env.SMOKE_SECRET;
    const code = secret && authenticator(secret).code();
    const isLoggedIn = await checks.run(rows.logIn(login, password, code));
    for (const row of rows.reads(isLoggedIn)) await checks.run([row]);
    if (isLoggedIn) {
      // Leftovers of an earlier run would make the creation fail.
      await checks.run(rows.leftovers(checks));
      if (await checks.run(rows.user(mail !== undefined)))
        await checks.run(rows.account(mail && (await ask(`Link in the mail to ${mail}: `))));
      await checks.run(rows.INTEGRATIONS);
      await checks.run(rows.leftovers(checks));
      await checks.run(['POST /api/logout']);
    }
    const { version, commit, time }: Partial<Build> = checks.known.build ?? {};
    if (version) print(`Version ${[version, commit, time].filter(Boolean).join(', ')}`);
    print(`${checks.passed} passed, ${checks.failed} failed`);
    return checks.failed === 0 ? 'passed' : 'failed';
  },
});

const originOf = (url: string): string => URL.parse(url)?.origin ?? '';

async function variable(name: string, question: () => Promise<string>): Promise<string> {
  const value = process.env[name] || (await question());
  if (!value) throw new WrongArguments(`${name} is missing.`);
  return value;
}

/** One for all questions, because the interface reads ahead. */
let pipedLines: AsyncIterator<string> | undefined;

/** Asks for one line; without a terminal, reads it from standard input. Empty if there is none. */
async function ask(question: string, isSecret = false): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) {
    pipedLines ??= createInterface({ input: stdin })[Symbol.asyncIterator]();
    return ((await pipedLines.next()).value ?? '').trim();
  }
  stderr.write(question);
  // Without an output, the interface does not show what is typed.
  const output = isSecret ? undefined : stderr;
  const lines = createInterface({ input: stdin, output, terminal: true });
  const [answer = ''] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
  lines.close();
  if (isSecret) printError('');
  return answer.trim();
}
