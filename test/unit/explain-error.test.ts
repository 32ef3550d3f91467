import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, it, onTestFinished } from 'vitest';
import { explainError } from '../../infra/commands/explain-error.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { Failure } from '../../lib/contract/failure.ts';

describe('the explanation of an error', () => {
  const MISSING = 'There are no AWS credentials, for example in AWS_PROFILE: so it is.';
  const EXPIRED = 'The AWS credentials have expired: renew them and run the command again.';
  const INVALID = 'AWS rejects the credentials: so it is.';
  const UNREACHABLE = 'The table cannot be reached: the service may have been stopped.';
  const UNKNOWN_HOST = 'The host aws.invalid is unknown: check AWS_REGION and the network.';

  it.each<[{ name: string } | { code: string }, string]>([
    [{ name: 'CredentialsProviderError' }, MISSING],
    [{ name: 'TokenProviderError' }, MISSING],
    [{ name: 'ExpiredTokenException' }, EXPIRED],
    [{ name: 'RequestExpired' }, EXPIRED],
    [{ name: 'UnrecognizedClientException' }, INVALID],
    [{ name: 'InvalidSignatureException' }, INVALID],
    [{ name: 'MissingAuthenticationTokenException' }, INVALID],
    [
      { name: 'AccessDeniedException' },
      'A permission is missing (docs/commands.md lists them): so it is.',
    ],
    [{ name: 'TimeoutError' }, 'AWS did not respond in time: run the command again.'],
    [{ name: 'ValidationException' }, 'ValidationException: so it is.'],
    [{ code: 'ECONNRESET' }, UNREACHABLE],
    [{ code: 'ECONNREFUSED' }, UNREACHABLE],
    [{ code: 'ENOTFOUND' }, UNKNOWN_HOST],
    [{ code: 'EAI_AGAIN' }, UNKNOWN_HOST],
    // Node names neither the setting nor its value.
    [{ code: 'ERR_INVALID_URL' }, 'The endpoint_url of the AWS profile is not a URL.'],
  ])('with %j is one sentence: %s', (fields, sentence) => {
    const error = Object.assign(new Error('so\n  it is.'), { hostname: 'aws.invalid', ...fields });

    expect(explainError(error, 'Gate')).toBe(sentence);
  });

  it('of an answer that is not JSON says where it may come from', async () => {
    let [status, body] = [200, '<html>'];
    const server = createServer((_, response) => response.writeHead(status).end(body)).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = new DynamoDBClient({ endpoint, region: 'eu-north-1', credentials: OPERATOR });

    const explanations = [];
    for ([status, body] of [
      [200, '<html>'],
      [404, ''],
      [400, '{"error":"no"}'],
    ] as const)
      explanations.push(
        await client.send(new ListTablesCommand({})).catch((error) => explainError(error, 'Gate')),
      );
    client.destroy();

    const remedy = 'check AWS_ENDPOINT_URL, the endpoint_url of the AWS profile, and any proxy.';
    expect(explanations).toEqual(
      [200, 404, 400].map((code) => `The answer with status ${code} is not from AWS: ${remedy}`),
    );
    expect(explainError(new SyntaxError('<'), 'Gate')).toBe(
      `The answer is not from AWS: ${remedy}`,
    );
  });

  it('says that the table did not respond', () => {
    expect(explainError(new Failure('unavailable'), 'Gate')).toBe(
      'The table did not respond in time.',
    );
  });
});
