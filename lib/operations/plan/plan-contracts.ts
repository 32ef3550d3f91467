import * as v from 'valibot';
import { change } from '../../audit/audit-contracts.ts';
import { AUDITED_ACTIONS } from '../../audit/audit-entry.ts';
import type { Contract } from '../../contract/contract.ts';
import { count, limited, matching, oneOf } from '../../contract/fields.ts';
import { PARAMETERS_MAX } from '../../integrations/integration.ts';
import { integrationFields } from '../../integrations/integration-contracts.ts';
import { parameterFields } from '../../integrations/parameter-contracts.ts';
import { emailKey } from '../../mail/address.ts';
import { userChange } from '../../users/user-schema.ts';

const shared = { tag: 'Plans', access: { anyRole: ['ROLE_ADMIN'] } } as const;

/** More would not fit into the body, or into the time of a request. */
const ENTRIES_MAX = 2000;

const REPEATED = { limits: { reason: 'each only once' } };

const atMost = <T>(max: number) => limited<T[]>({ max }, ({ length }) => length <= max, 'Size');

/** Requires entries with different keys. An error names the entry that repeats one. */
const uniqueBy = <T>(keyOf: (entry: T) => string, field: string) =>
  v.rawCheck<T[]>(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const seen = new Set<string>();
    for (const [index, value] of dataset.value.entries()) {
      const key = keyOf(value);
      if (!seen.has(key)) {
        seen.add(key);
        continue;
      }
      const origin = 'value' as const;
      addIssue({
        message: 'Pattern',
        path: [
          { type: 'array', origin, input: dataset.value, key: index, value },
          {
            type: 'object',
            origin,
            input: value as never,
            key: field,
            value: undefined,
            ...REPEATED,
          },
        ],
      });
    }
  });

const reference = v.strictObject({
  name: v.pipe(v.string('TypeMismatch'), matching(/^[A-Z][A-Z0-9_]{0,99}$/)),
  version: v.pipe(
    v.number('TypeMismatch'),
    v.safeInteger('TypeMismatch'),
    limited({ min: 1 }, (value) => value >= 1, 'Size'),
  ),
});

/** Leaves a secret as it is. */
const KEEP = v.pipe(v.literal('keep'), v.metadata({ type: 'string' }));

const { confName, confValue, confDescription } = parameterFields;
const parameter = v.pipe(
  v.strictObject({
    confName,
    confValue: v.optional(confValue),
    confDescription,
    /** The value is a secret: by name and version, or left as it is. */
    secret: v.optional(v.union([KEEP, reference], 'TypeMismatch')),
  }),
  limited(
    { reason: 'must have either confValue or secret' },
    (entry) => (entry.confValue === undefined) !== (entry.secret === undefined),
    'Pattern',
  ),
);
export type ParameterEntry = v.InferOutput<typeof parameter>;

const list = <const S extends v.GenericSchema>(entry: S) => v.optional(v.array(entry), []);

const { id: _id, password: _password, ...userFields } = userChange.entries;
const user = v.strictObject(userFields);
export type UserEntry = v.InferOutput<typeof user>;

const integration = v.strictObject({
  ...integrationFields,
  active: v.optional(v.boolean('TypeMismatch')),
  parameters: v.optional(
    v.pipe(
      v.array(parameter, 'TypeMismatch'),
      atMost(PARAMETERS_MAX),
      uniqueBy(({ confName }) => confName, 'confName'),
    ),
    [],
  ),
});
export type IntegrationEntry = v.InferOutput<typeof integration>;

/** What files say. Fields that an entry omits stay as they are. */
const files = v.strictObject({
  /** The name of the set of files, by which entities know what manages them. */
  set: v.pipe(v.string('TypeMismatch'), matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/)),
  users: v.optional(
    v.pipe(
      v.array(user, 'TypeMismatch'),
      atMost(ENTRIES_MAX),
      uniqueBy(({ login }) => login, 'login'),
      uniqueBy(({ email }) => emailKey(email), 'email'),
    ),
    [],
  ),
  integrations: v.optional(
    v.pipe(
      v.array(integration, 'TypeMismatch'),
      atMost(ENTRIES_MAX),
      uniqueBy(({ name }) => name, 'name'),
    ),
    [],
  ),
  /** What is deleted if the set manages it and does not have it. */
  prune: list(oneOf(['users', 'integrations', 'parameters'])),
});
export type Files = v.InferOutput<typeof files>;

const planned = v.strictObject({
  action: v.picklist(AUDITED_ACTIONS),
  name: v.string(),
  /** Of a parameter. */
  integrationName: v.optional(v.string()),
  changes: v.array(change),
  /** Why a rule forbids it. */
  refused: v.optional(v.strictObject({ message: v.string(), reason: v.string() })),
});

const plan = v.strictObject({
  digest: v.string(),
  changes: v.array(planned),
  /** How many entries of the files need no change. */
  unchanged: count,
  refused: count,
  /** The secrets whose values are needed to apply it. */
  secrets: v.array(v.string()),
});

const PLAN_BYTES_MAX = 2 * 1024 * 1024;

/** POST /api/plan */
export const MakePlan = {
  ...shared,
  summary: 'State what would change for everything to be as files say',
  scope: 'read',
  kind: 'read',
  body: files,
  bodyBytesMax: PLAN_BYTES_MAX,
  headers: ['ETag'],
  response: plan,
  failures: ['read-budget-spent', 'list-too-long', 'plan-too-large'],
} satisfies Contract;

/** POST /api/apply. `If-Match` has the digest of the plan. */
export const ApplyPlan = {
  ...shared,
  summary: 'Change exactly what a plan states, whose digest is in If-Match',
  scope: 'write',
  body: v.strictObject({
    ...files.entries,
    /** The values of secrets by their names. */
    values: v.optional(v.record(v.string(), confValue), {}),
  }),
  bodyBytesMax: PLAN_BYTES_MAX,
  response: v.strictObject({
    /** How many of the changes were made. */
    applied: count,
    /** What is left, if time or the limit of changes did not suffice for all. */
    rest: v.nullable(plan),
    /** After how many seconds the rest can be applied. */
    retryAfter: v.nullable(count),
  }),
  failures: [
    'read-budget-spent',
    'list-too-long',
    'plan-too-large',
    'version-changed',
    'plan-refused',
  ],
} satisfies Contract;
export type Application = v.InferOutput<typeof ApplyPlan.body>;
