import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { actionsOf, isLike, isWrite } from '../calls/actions.ts';
import {
  type AwsCall,
  type AwsResponse,
  errorResponse,
  type Interceptor,
} from '../calls/aws-call.ts';
import { CONFLICT, canceledByConflict, dynamoDbError } from './dynamodb.ts';

/**
 * The first four prevent the call. The others execute it, but the result comes late or never.
 * docs/calls.md explains each.
 */
export const FAULTS = [
  'conflict',
  'throttle',
  'error-before',
  'reset',
  'error-after',
  'lost',
  'half',
  'late',
  'slow',
  'kill',
] as const;
export type Fault = (typeof FAULTS)[number];

const OPERATIONS = [
  'GetItem',
  'BatchGetItem',
  'TransactGetItems',
  'Query',
  'Scan',
  'PutItem',
  'UpdateItem',
  'DeleteItem',
  'TransactWriteItems',
  'Sign',
  'GetPublicKey',
  'GenerateMac',
  'GenerateDataKey',
  'Decrypt',
  'SendEmail',
];

const rule = v.strictObject({
  service: v.optional(v.picklist(['DynamoDB', 'KMS', 'SES'])),
  /** A route of routes.ts, such as `PUT /api/users`. */
  function: v.optional(v.string()),
  operation: v.optional(v.picklist(OPERATIONS)),
  /** `<pk>/<sk>` of an item of the call; a trailing asterisk matches any suffix. */
  item: v.optional(v.string()),
  nth: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  fault: v.picklist(FAULTS),
  /** The delay of `late` and `slow`; by default longer than any endpoint's timeout. */
  milliseconds: v.optional(v.pipe(v.number(), v.minValue(0)), 15_000),
});

/** A fault, and the criteria that a call must all meet for it to apply. */
export type Rule = v.InferInput<typeof rule>;

export type Faults = ReturnType<typeof openFaults>;

type ActiveRule = v.InferOutput<typeof rule>;

export function openFaults() {
  let active: (ActiveRule & { calls: number })[] = [];
  return {
    /**
     * Replaces all rules; the first that applies takes effect. Throws on an invalid rule or an
     * unknown function.
     */
    inject(rules: readonly unknown[], functionNames?: readonly string[]): void {
      const { success, output, issues } = v.safeParse(v.array(rule), rules);
      if (!success)
        throw new Error(
          issues.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`).join('; '),
        );
      for (const [index, { function: name }] of output.entries()) {
        if (name !== undefined && functionNames?.includes(name) === false)
          throw new Error(
            `${index}.function: There is no function ${name}: name a route of routes.ts`,
          );
      }
      active = output.map((parsed) => ({ ...parsed, calls: 0 }));
    },
    /** Applies faults to calls of functions only: operators and tests always see the real state. */
    intercept: (async (call, forward) => {
      if (call.functionName === undefined) return forward();
      const matching = active.filter((entry) => appliesTo(entry, call));
      for (const entry of matching) entry.calls++;
      const selected = matching.find(({ nth, calls }) => nth === undefined || nth === calls);
      return selected ? applyFault(selected, call, forward) : forward();
    }) satisfies Interceptor,
  };
}

function appliesTo(
  { service, function: functionName, operation, item, fault }: ActiveRule,
  call: AwsCall,
): boolean {
  const items = actionsOf(call).map(({ pk, sk }) => `${pk}/${sk ?? ''}`);
  return (
    (service === undefined || service === call.service) &&
    (functionName === undefined || functionName === call.functionName) &&
    (operation === undefined || operation === call.operation) &&
    (item === undefined || items.some((name) => isLike(name, item))) &&
    (fault !== 'conflict' || isWrite(call.operation))
  );
}

async function applyFault(
  { fault, item, milliseconds }: ActiveRule,
  call: AwsCall,
  forward: () => Promise<AwsResponse>,
): Promise<AwsResponse> {
  // unref: a pending delay must not keep the process alive when the cloud stops.
  const delay = () => wait(milliseconds, undefined, { ref: false });
  switch (fault) {
    case 'conflict': {
      if (call.operation !== 'TransactWriteItems') return CONFLICT;
      const actions = actionsOf(call);
      return canceledByConflict(
        actions.map(({ pk, sk }, position) =>
          item === undefined ? position === 0 : isLike(`${pk}/${sk}`, item),
        ),
      );
    }
    case 'throttle':
      return THROTTLED[call.service];
    case 'error-before':
      return FAILED;
    case 'reset':
      return { ...FAILED, cut: 'before' };
    case 'slow':
      await delay();
      return forward();
  }
  const response = await forward();
  if (fault === 'error-after') return FAILED;
  if (fault === 'kill') call.kill();
  if (fault !== 'late') return { ...response, cut: fault === 'half' ? 'middle' : 'before' };
  await delay();
  return response;
}

const FAILED = errorResponse('InternalServerError', 'An injected fault', 500);

const THROTTLED: Record<AwsCall['service'], AwsResponse> = {
  DynamoDB: dynamoDbError(
    'ProvisionedThroughputExceededException',
    'The level of configured provisioned throughput for the table was exceeded.',
  ),
  KMS: errorResponse('ThrottlingException', 'Rate exceeded'),
  SES: errorResponse('TooManyRequestsException', 'Rate exceeded', 429),
};
