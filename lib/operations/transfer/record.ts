import * as v from 'valibot';
import { OPERATOR_NAME } from '../../audit/audit-entry.ts';
import {
  instant,
  instantOf,
  type Limits,
  limitsOf,
  line,
  optionalText,
} from '../../contract/fields.ts';
import { parseJson } from '../../contract/json.ts';
import { PARAMETER_BYTES_MAX, PARAMETERS_MAX } from '../../integrations/integration.ts';
import { CreateIntegration } from '../../integrations/integration-contracts.ts';
import { isMasked } from '../../integrations/parameter.ts';
import { CreateParameter } from '../../integrations/parameter-contracts.ts';
import { bytesOf } from '../../integrations/parameter-table.ts';
import { isReadable } from '../../passwords/passwords.ts';
import { CLOCK_SKEW_SECONDS } from '../../tokens/token.ts';
import { newUser } from '../../users/user-schema.ts';

/*
 * The records of an import and an export, one JSON object per line. The fields are the same as in
 * the API, under the same rules. Unlike in a request, an unknown field is an error: dropped
 * silently, it would be missed only later.
 */

/**
 * Why a record is rejected: a code, and the field that it is about. The code of a whole line has no
 * field.
 */
export interface RecordError {
  readonly field?: string;
  readonly code: string;
  /** In English: the value and what is allowed, or what has taken the value. No secret. */
  readonly detail?: string;
}

const exactly = <E extends v.ObjectEntries>(entries: E) =>
  v.strictObject(entries, ({ expected }) =>
    expected === 'never' ? 'UnknownField' : 'TypeMismatch',
  );

/** A time that is not in the future; stored in UTC. */
const date = v.pipe(
  optionalText(v.pipe(instant, v.check(isPast, 'Pattern')), undefined),
  v.transform((time) => time && instantOf(time)),
);

/** Whether the time has come, by a clock that may be slow. */
function isPast(time: string): boolean {
  return Date.parse(instantOf(time) as string) <= Date.now() + CLOCK_SKEW_SECONDS * 1000;
}

const login = line(1, 50);

/** Spring Security stores which encoder has made a hash. */
const withoutPrefix = (hash: string): string => hash.replace(/^\{bcrypt\}/, '');

const { id: _userId, password: _password, ...userFields } = newUser.entries;
const userRecord = exactly({
  type: v.literal('user'),
  ...userFields,
  passwordHash: v.pipe(
    optionalText(
      v.pipe(
        v.string('TypeMismatch'),
        v.check((hash) => isReadable(withoutPrefix(hash)), 'Pattern'),
        v.description(
          'A bcrypt hash ($2a$, $2b$ or $2y$, also after {bcrypt}) with a cost from 4 to 12, ' +
            'or a hash that this service exported',
        ),
      ),
      undefined,
    ),
    v.transform((hash) => hash && withoutPrefix(hash)),
  ),
  createdBy: optionalText(login, OPERATOR_NAME),
  createdDate: date,
  lastModifiedBy: optionalText(login, undefined),
  lastModifiedDate: date,
});
export type UserRecord = v.InferOutput<typeof userRecord>;

const {
  id: _parameterId,
  integration: _integration,
  ...parameterFields
} = CreateParameter.body.entries;
const parameterRecord = v.pipe(
  exactly(parameterFields),
  // An export has no secrets: their values must be entered before the import.
  v.forward(
    v.check(({ confValue, secret = false }) => !isMasked(confValue, secret), 'Pattern'),
    ['confValue'],
  ),
);
type ParameterRecord = v.InferOutput<typeof parameterRecord>;

const totalBytes = (parameters: readonly ParameterRecord[]): number =>
  parameters.reduce(
    (sum, { confName, confValue, confDescription }) =>
      sum + bytesOf(confName, confValue, confDescription ?? ''),
    0,
  );

const { id: _integrationId, ...integrationFields } = CreateIntegration.body.entries;
const integrationRecord = exactly({
  type: v.literal('integration'),
  ...integrationFields,
  parameters: v.nullish(
    v.pipe(
      v.array(parameterRecord, 'TypeMismatch'),
      v.maxLength(PARAMETERS_MAX, 'too-many-parameters'),
      v.check(
        (parameters) => totalBytes(parameters) <= PARAMETER_BYTES_MAX,
        'parameters-too-large',
      ),
    ),
    [],
  ),
});
export type IntegrationRecord = v.InferOutput<typeof integrationRecord>;

/** The schema of one line. */
export const importRecord = v.variant('type', [userRecord, integrationRecord], 'Pattern');
type ImportRecord = v.InferOutput<typeof importRecord>;

// Without `fatal`, invalid bytes would be replaced silently. It ignores the byte order mark that
// some programs write.
const UTF8 = new TextDecoder('utf-8', { fatal: true });

const MALFORMED: readonly RecordError[] = [{ code: 'malformed' }];

/** The names of an integration, which need not be unique. */
export interface Names {
  readonly name: string;
  readonly shortName: string;
}

const integrationNames = v.object({
  type: v.literal('integration'),
  name: v.string(),
  shortName: v.string(),
});

/**
 * The names of the integration in a line whose other fields may be invalid; undefined if there are
 * none.
 */
export function integrationNamesIn(line: Buffer): Names | undefined {
  const { success, output } = v.safeParse(integrationNames, jsonIn(line));
  return success ? output : undefined;
}

/** The JSON value of a line; undefined if it is malformed. */
function jsonIn(line: Buffer): unknown {
  try {
    return parseJson(UTF8.decode(line));
  } catch {
    // The line is not UTF-8, or not JSON.
  }
}

/** Parses a line. Returns its errors, at most one for each field, if it is not a valid record. */
export function readRecord(line: Buffer): ImportRecord | readonly RecordError[] {
  const value = jsonIn(line);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return MALFORMED;
  const { success, output, issues } = v.safeParse(importRecord, value, { abortPipeEarly: true });
  if (success) return output;
  // Every issue is about a field, because the value is an object.
  return issues.map((issue) => ({
    field: v.getDotPath(issue) as string,
    code: codeOf(issue),
    ...detailOf(issue),
  }));
}

const VALUE_LENGTH_MAX = 40;

/** The value, and what is allowed, where that is a list or a reason. No secret has either. */
function detailOf(issue: v.BaseIssue<unknown>): { detail: string } | undefined {
  const { allowed, reason }: Limits =
    issue.type === 'variant' ? { allowed: ['user', 'integration'] } : (limitsOf(issue) ?? {});
  const wanted = allowed ? `one of ${allowed.join(', ')}` : reason;
  if (!wanted || typeof issue.input !== 'string') return undefined;
  const value = issue.input.replaceAll(/\p{C}/gu, '').slice(0, VALUE_LENGTH_MAX);
  return { detail: `${value} is not ${wanted}` };
}

const codeOf = ({ input, message }: v.BaseIssue<unknown>): string =>
  input === undefined || input === null ? 'NotNull' : message;

/**
 * Longer than any record: its parameters have 192 KiB, of which JSON can write each byte as six.
 */
const LINE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * The lines of a file. Only the beginning of a line that is longer than any record is kept, which
 * is not valid JSON. The readline module would also split at U+2028, which JSON strings can
 * contain.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  const keep = (part: Buffer) => {
    if (bytes < LINE_BYTES_MAX) parts.push(part);
    bytes += part.length;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', start)) {
      keep(chunk.subarray(start, end));
      yield Buffer.concat(parts);
      [parts, bytes] = [[], 0];
      start = end + 1;
    }
    keep(chunk.subarray(start));
  }
  yield Buffer.concat(parts);
}
