import { transactionCanceled } from '../aws/transaction-conflicts.ts';
import type { AwsCall, AwsResponse } from '../calls/aws-call.ts';
import { ACCOUNT } from '../stack/template.ts';
import { batchSubset, mergeRequestItems, parsedBody, type RequestItems } from './call-items.ts';
import { type Demand, isExceeded, type Limit, type Throughput } from './throughput.ts';

type Input = AwsCall['input'];

/** Forwards a call that fits completely, and the part of a batch that fits. */
export type Admit = (
  call: Pick<AwsCall, 'operation' | 'input'>,
  demands: readonly Demand[],
  forward: (input: Input) => Promise<AwsResponse>,
) => Promise<AwsResponse>;

/** Admits calls to tables in a region as their throughput allows. */
export const openAdmission =
  (region: string, { takeEach, takeAll }: Throughput): Admit =>
  async ({ operation, input }, demands, forward) => {
    const isBatch = operation.startsWith('Batch');
    const exceeded = isBatch ? takeEach(demands) : takeAll(demands);
    if (!exceeded.some(isExceeded)) return forward(input);
    if (!isBatch || exceeded.every(isExceeded))
      return throttled(region, operation, demands, exceeded);

    const response = await forward(
      batchSubset(input, (position) => !isExceeded(exceeded[position])),
    );
    if (response.status !== 200) return response;
    const body = parsedBody(response);
    const name = operation === 'BatchGetItem' ? 'UnprocessedKeys' : 'UnprocessedItems';
    const throttledPart = batchSubset(input, (position) =>
      isExceeded(exceeded[position]),
    ).RequestItems;
    const unprocessed = mergeRequestItems(body[name] as RequestItems | undefined, throttledPart);
    return { ...response, body: { ...body, [name]: unprocessed } };
  };

function throttled(
  region: string,
  operation: string,
  demands: readonly Demand[],
  exceeded: readonly Limit[][],
): AwsResponse {
  const [first = 'KeyRangeThroughputExceeded'] = exceeded.flat();
  if (operation.startsWith('Transact')) {
    return transactionCanceled(
      exceeded.map(([limit]) =>
        limit ? { Code: 'ThrottlingError', Message: MESSAGES[limit] } : { Code: 'None' },
      ),
    );
  }
  const reasons = demands.flatMap(({ kind, table }, index) =>
    (exceeded[index] ?? []).map((limit) => ({
      reason: `Table${kind}${limit}`,
      resource: `arn:aws:dynamodb:${region}:${ACCOUNT}:table/${table}`,
    })),
  );
  const distinct = reasons.filter(
    ({ reason }, index) => reasons.findIndex((other) => other.reason === reason) === index,
  );
  return operation.startsWith('Batch')
    ? errorResponse('ProvisionedThroughputExceededException', BATCH_MESSAGE, {
        ThrottlingReasons: distinct,
      })
    : errorResponse('ThrottlingException', MESSAGES[first], { throttlingReasons: distinct });
}

const MESSAGES = {
  KeyRangeThroughputExceeded:
    'Throughput exceeds the current capacity of your table or index. DynamoDB is automatically ' +
    'scaling your table or index so please try again shortly. If exceptions persist, check if ' +
    'you have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/' +
    'bp-partition-key-design.html.',
  MaxOnDemandThroughputExceeded:
    'Throughput exceeds the maximum OnDemandThroughput configured on table or index',
} satisfies Record<Limit, string>;
const BATCH_MESSAGE =
  'The level of configured provisioned throughput for the table was exceeded. Consider ' +
  'increasing your provisioning level with the UpdateTable API.';

const errorResponse = (
  name: string,
  message: string,
  reasons: Record<string, unknown>,
): AwsResponse => ({
  status: 400,
  body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message, ...reasons },
});
