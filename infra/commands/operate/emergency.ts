import { Failure } from '../../../lib/contract/failure.ts';
import {
  armEmergencyAccount,
  disarmEmergencyAccount,
} from '../../../lib/operations/administrators/emergency.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import { operatorsArn } from '../account.ts';
import { print } from '../command-line.ts';
import { defineCommand, TABLE_HELP, type ValuesOf, WrongArguments } from '../define-command.ts';
import { refusalOf } from './refused-administrator.ts';

const options = {
  table: { type: 'string' },
  login: { type: 'string' },
  minutes: { type: 'string' },
  reason: { type: 'string' },
  disarm: { type: 'boolean', default: false },
} as const;

export const command = defineCommand({
  usage: `npm run admin -- emergency [--table NAME]
                          (--login LOGIN --minutes N --reason TEXT | --disarm)`,
  help: `Arms the emergency account of an environment with ssoOnly: it can log in with its password
and a code, while all others need the identity provider. It must be an activated administrator with
a second factor. The administrators are informed by mail, and an alarm is raised.

With --disarm, the account needs the identity provider again. A session that it has started lasts
until it expires, unless it is ended.

${TABLE_HELP}
--login LOGIN  the account, which the setting ssoOnly.emergencyAccount must name
--minutes N    for how long, from 1 to 240
--reason TEXT  why, in at most 200 characters, for the audit trail
--disarm       disarms the account that is armed`,
  options,
  statuses: {
    done: [0, 'the account is armed, or none is armed any longer'],
    failed: [1, 'not done, or unknown: run the command again'],
  },
  seeAlso: 'docs/runbook.md has the procedure.',
  async run({ values, openTable }) {
    const emergency = values.disarm ? onlyDisarm(values) : emergencyIn(values);
    const { table, tableName } = await openTable();
    const by = values.table === undefined ? 'local' : await operatorsArn();
    try {
      if (!emergency) {
        const login = await disarmEmergencyAccount(table, by);
        print(login === undefined ? 'No account is armed.' : `${login} is disarmed.`);
        return 'done';
      }
      const { login } = emergency;
      const armed = await armEmergencyAccount(table, login, { ...emergency, by });
      if (armed.outcome !== 'armed') throw refusalOf(armed, login, tableName);
      print(`${login} is armed until ${armed.until.toISOString()}.`);
      // The setting is not in the table.
      print(`It can log in with password and code if ssoOnly.emergencyAccount is "${login}".`);
      print(`Informed by mail: ${counted(armed.notified, 'administrator')}`);
      return 'done';
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      throw new Error('The table did not respond in time. Run the command again.');
    }
  },
});

type Values = ValuesOf<typeof options>;

function onlyDisarm({ login, minutes, reason }: Values): undefined {
  if ([login, minutes, reason].some((value) => value !== undefined))
    throw new WrongArguments('--disarm needs no other option than --table.');
}

function emergencyIn({ login, minutes, reason }: Values) {
  if (login === undefined) throw new WrongArguments('--login is missing.');
  if (minutes === undefined || !/^[1-9]\d{0,2}$/.test(minutes) || Number(minutes) > 240)
    throw new WrongArguments('--minutes must be a whole number from 1 to 240.');
  if (reason === undefined || !/^[^\p{C}]{1,200}$/u.test(reason))
    throw new WrongArguments('--reason must have 1 to 200 characters in one line.');
  return { login, minutes: Number(minutes), reason };
}
