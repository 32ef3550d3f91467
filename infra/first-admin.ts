import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { DescribeTableCommand, DynamoDBClient, ListTagsOfResourceCommand } from '@aws-sdk/client-dynamodb';
import * as v from 'valibot';
import { Failure } from '../lib/contract/failure.ts';
import { openPasswords } from '../lib/passwords/passwords.ts';
import { openTable } from '../lib/table/table.ts';
import { createFirstAdministrator } from '../lib/users/first-administrator.ts';
import { email, login } from '../lib/users/user-schema.ts';

/* `npm run first-admin`: creates the first administrator of a deployed table with the operator's AWS credentials. */

const USAGE = 'npm run first-admin -- --table NAME --login LOGIN --email ADDRESS';

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const options = readArguments();
const password = randomBytes(15).toString('base64url');
try {
  const client = new DynamoDBClient({});
  const user = await createFirstAdministrator(
    openTable(options.table, client),
    openPasswords(await pepperKeyOf(client, options.table)),
    { login: options.login, email: options.email, password },
  );
  if (!user) fail(`${options.table} already has an administrator. Nothing was changed.`);
  process.stdout.write(
    `${user.login} is now an administrator of ${options.table}.\n` +
      `Password: ${password}\n` +
      'The password is shown only once and stored nowhere: log in and change it.\n',
  );
} catch (error) {
  if (error instanceof Failure && error.code === 'unavailable') {
    fail(
      'The table did not respond, so the account may or may not exist. ' +
        `If it does, its password is ${password}; otherwise run the command again.`,
    );
  }
  fail(error instanceof Failure ? `The account was not created: ${error.code}.` : String(error));
}

function readArguments(): { table: string; login: string; email: string } {
  const options = { table: { type: 'string' }, login: { type: 'string' }, email: { type: 'string' } } as const;
  try {
    const { values } = parseArgs({ options });
    const { success, output, issues } = v.safeParse(v.object({ table: v.string(), login, email }), values);
    if (success) return output;
    fail(`${issues.map((issue) => `--${v.getDotPath(issue)}: ${issue.message}`).join('\n')}\n${USAGE}`);
  } catch (error) {
    fail(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  }
}

/** The stack records the ARN of the key that protects passwords in a tag of the table. */
async function pepperKeyOf(client: DynamoDBClient, table: string): Promise<string> {
  const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
  const { Tags } = await client.send(new ListTagsOfResourceCommand({ ResourceArn: Table?.TableArn }));
  const key = Tags?.find((tag) => tag.Key === 'gatehouse:pepper-key')?.Value;
  return key ?? fail(`${table} is not a Gatehouse table: it lacks the tag gatehouse:pepper-key.`);
}
