import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { actionsOf, isWrite } from '../calls/actions.ts';
import type { AwsCall, AwsResponse, Interceptor } from '../calls/aws-call.ts';
import { CONFLICT, cancelled } from './in-flight.ts';

/* What AWS does on a bad day, on purpose: between a function and the local cloud, and nowhere in the functions. */

/** What can go wrong with a call. In all but the first four it is made all the same, and the function does not learn it, or too late. */
export const FAULTS = [
  /** Refused: another transaction is under way on the item. Strikes writes only. */
  'conflict',
  /** Refused: too many requests. */
  'throttle',
  /** Answered 500, and not made. */
  'error-before',
  /** The connection breaks, and it is not made. */
  'reset',
  /** Made, and answered 500. */
  'error-after',
  /** Made, and the connection breaks before the answer. */
  'lost',
  /** Made, and the connection breaks in the middle of the answer. */
  'half',
  /** Made, and answered late. */
  'late',
  /** Made late, and answered then. */
  'slow',
  /** Made, and the function that called ends there and then. */
  'kill',
] as const;
export type Fault = (typeof FAULTS)[number];

const rule = v.strictObject({
  service: v.optional(v.picklist(['DynamoDB', 'KMS', 'SES'])),
  /** As routes.ts names it: `PUT /api/users`. */
  function: v.optional(v.string()),
  operation: v.optional(v.string()),
  /** `<pk>/<sk>` of an item that the call names; a star at the end stands for any rest. */
  item: v.optional(v.string()),
  /** Strikes this one of the calls that fit, counted from 1, and no other. */
  nth: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  fault: v.picklist(FAULTS),
  /** How late, where it is late; else longer than any function may take. */
  milliseconds: v.optional(v.pipe(v.number(), v.minValue(0)), 15_000),
});

/** Which calls go wrong, and how: those that fit all that it names. */
export type Rule = v.InferInput<typeof rule>;

/** The faults that are at work. They strike calls of functions only: whoever looks from outside sees what is. */
export interface Faults {
  /** Goes around the calls of a local cloud. */
  readonly around: Interceptor;
  /** These rules from now on, and none of those before; the first that strikes decides. Fails with a sentence on a rule that is none. */
  inject(rules: readonly unknown[]): void;
}

export function openFaults(): Faults {
  let active: { rule: v.InferOutput<typeof rule>; seen: number }[] = [];
  return {
    inject(rules) {
      const { success, output, issues } = v.safeParse(v.array(rule), rules);
      if (!success) throw new Error(issues.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`).join('; '));
      active = output.map((each) => ({ rule: each, seen: 0 }));
    },
    async around(call, make) {
      if (call.by === undefined) return make();
      const fitting = active.filter((entry) => fits(entry.rule, call));
      for (const entry of fitting) entry.seen++;
      const struck = fitting.find(({ rule: { nth }, seen }) => nth === undefined || nth === seen);
      return struck ? applyFault(struck.rule, call, make) : make();
    },
  };
}

function fits({ service, function: by, operation, item, fault }: v.InferOutput<typeof rule>, call: AwsCall): boolean {
  const named = actionsOf(call).map(({ pk, sk }) => `${pk}/${sk ?? ''}`);
  return (
    (service === undefined || service === call.service) &&
    (by === undefined || by === call.by) &&
    (operation === undefined || operation === call.operation) &&
    (item === undefined || named.some((name) => matches(item, name))) &&
    (fault !== 'conflict' || isWrite(call.operation))
  );
}

const matches = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;

async function applyFault(
  { fault, item, milliseconds }: v.InferOutput<typeof rule>,
  call: AwsCall,
  make: () => Promise<AwsResponse>,
): Promise<AwsResponse> {
  // Nobody waits for the end of a wait: the cloud may stop in the middle of it.
  const delay = () => wait(milliseconds, undefined, { ref: false });
  switch (fault) {
    case 'conflict': {
      if (call.operation !== 'TransactWriteItems') return CONFLICT;
      const meets = actionsOf(call).map(({ pk, sk }) => item === undefined || matches(item, `${pk}/${sk}`));
      return cancelled(item === undefined ? meets.map((_, position) => position === 0) : meets);
    }
    case 'throttle':
      return THROTTLED[call.service];
    case 'error-before':
      return FAILED;
    case 'reset':
      return { ...FAILED, cut: 'before' };
    case 'error-after':
      await make();
      return FAILED;
    case 'lost':
      return { ...(await make()), cut: 'before' };
    case 'half':
      return { ...(await make()), cut: 'middle' };
    case 'late': {
      const answer = await make();
      await delay();
      return answer;
    }
    case 'slow':
      await delay();
      return make();
    case 'kill': {
      const answer = await make();
      call.kill();
      return { ...answer, cut: 'before' };
    }
  }
}

const FAILED: AwsResponse = {
  status: 500,
  body: { __type: 'InternalServerError', message: 'The local cloud was told to fail here' },
};

const THROTTLED: Record<AwsCall['service'], AwsResponse> = {
  DynamoDB: {
    status: 400,
    body: {
      __type: 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException',
      message: 'The level of configured provisioned throughput for the table was exceeded.',
    },
  },
  KMS: { status: 400, body: { __type: 'ThrottlingException', message: 'Rate exceeded' } },
  SES: { status: 429, body: { __type: 'TooManyRequestsException', message: 'Rate exceeded' } },
};
