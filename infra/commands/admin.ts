import { defineCommand, runCommand, WrongArguments } from './define-command.ts';

/** What each command is for, in the order in which a deployment needs them, and its module. */
export const COMMANDS = {
  preflight: [
    'checks what a deployment to an account needs',
    () => import('./deploy/preflight.ts'),
  ],
  issuer: ['prints the setting for an OpenID provider', () => import('./deploy/issuer.ts')],
  diff: ['compares a deployment with the deployed stacks', () => import('./deploy/diff.ts')],
  smoke: ['checks a deployment from outside', () => import('./deploy/smoke.ts')],
  'first-admin': ['creates or recovers an administrator', () => import('./operate/first-admin.ts')],
  emergency: ['admits one account in spite of ssoOnly', () => import('./operate/emergency.ts')],
  import: ['imports users and integrations', () => import('./operate/import.ts')],
  export: ['exports users and integrations', () => import('./operate/export.ts')],
  person: ['prints or forgets the data of a person', () => import('./operate/person.ts')],
  mails: ['lists mails that were not sent, and sends them', () => import('./operate/mails.ts')],
  'password-keys': ['counts passwords by their keys', () => import('./operate/password-keys.ts')],
  verify: ['checks the whole table, and repairs it', () => import('./operate/verify.ts')],
  adopt: ['prepares a restored table for service', () => import('./operate/adopt.ts')],
  'new-endpoint': ['writes the files of an endpoint', () => import('./develop/new-endpoint.ts')],
} as const;

export type Verb = keyof typeof COMMANDS;

const isVerb = (name: string): name is Verb => Object.hasOwn(COMMANDS, name);

/** Lists the commands, also when none or an unknown one is given. */
const overview = defineCommand({
  usage: [
    'npm run admin -- COMMAND [OPTIONS]',
    '',
    ...Object.entries(COMMANDS).map(([verb, [purpose]]) => `  ${verb.padEnd(13)}  ${purpose}`),
  ].join('\n'),
  help: 'npm run admin -- COMMAND --help explains a command.',
  options: {},
  positionals: ['COMMAND'],
  statuses: { failed: [1, 'the command explains it'] },
  async run({ positionals: [verb] }) {
    throw new WrongArguments(`There is no command "${verb}".`);
  },
});

/** `npm run admin`: runs a command as this process. */
export async function runAdmin(
  [verb = '', ...args]: readonly string[],
  loadLocalTables: Parameters<typeof runCommand>[2],
): Promise<never> {
  if (!isVerb(verb)) return runCommand(overview, verb ? [verb] : []);
  const { command } = await COMMANDS[verb][1]();
  return runCommand(command as typeof overview, args, loadLocalTables);
}
