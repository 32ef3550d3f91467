import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import * as v from 'valibot';
import type { FieldError } from '../../../lib/contract/failure.ts';
import { parseJson } from '../../../lib/contract/json.ts';
import { LENGTH as PASSWORD_LENGTH } from '../../../lib/passwords/password-schema.ts';
import document from '../../../openapi.json' with { type: 'json' };
import { type Route, routes } from '../../../routes.ts';
import type { Received, Sent } from './launch.ts';

/* Checks of requests and responses against openapi.json and the contracts of routes. */

type Json = Readonly<Record<string, unknown>>;
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly explode?: boolean;
  readonly schema: Json;
}
interface Body {
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}
interface Header {
  readonly required?: boolean;
  readonly schema: Json;
}
interface Response extends Body {
  readonly headers?: Readonly<Record<string, Header>>;
}
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Response>>;
}

const ajv = new Ajv2020({
  strict: false,
  formats: {
    'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
    date: /^\d{4}-\d\d-\d\d$/,
    uuid: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/,
    uri: (text) => URL.canParse(text),
    // The service has more rules for addresses.
    'idn-email': /^.+@.+$/su,
  },
});
ajv.addSchema(document, 'api');

const validators = new Map<string, ValidateFunction>();

function violationsOf(schema: Json, value: unknown): string | undefined {
  const text = JSON.stringify(schema);
  const validate =
    validators.get(text) ?? ajv.compile(JSON.parse(text.replaceAll('"#/', '"api#/')));
  validators.set(text, validate);
  return validate(value) ? undefined : ajv.errorsText(validate.errors);
}

function resolved<T>(part: T): T {
  const { $ref } = part as { $ref?: string };
  if (!$ref) return part;
  return $ref
    .slice(2)
    .split('/')
    .reduce<unknown>((parent, key) => (parent as Json)[key], document) as T;
}

function operationOf(route: string): Operation {
  const [method = '', path = ''] = route.split(' ');
  const paths = document.paths as unknown as Record<string, Record<string, Operation>>;
  const operation = paths[path]?.[method.toLowerCase()];
  assert(operation, `openapi.json lacks ${route}: docs/adding-an-endpoint.md says how to write it`);
  return operation.parameters
    ? { ...operation, parameters: operation.parameters.map(resolved) }
    : operation;
}

/** All response headers that the document knows; others, such as Date, come from the server. */
const KNOWN_HEADERS = [
  ...[
    'Authorization',
    'Cache-Control',
    'ETag',
    'Link',
    'Location',
    'Retry-After',
    'WWW-Authenticate',
  ],
  ...['X-Total-Count', 'X-gatehouseApp-alert', 'X-gatehouseApp-error', 'X-gatehouseApp-params'],
];

/** `no-store` is the default, which the document does not repeat. */
const isUndocumented = (name: string, value: string | undefined): boolean =>
  value === undefined || (name === 'Cache-Control' && value === 'no-store');

/** Fails with the path of the first field that differs from its contract. */
function checkContractOf(where: string, schema: v.GenericSchema, body: unknown): void {
  const [issue] = v.safeParse(schema, body).issues ?? [];
  assert(!issue, issue && `${where}: ${v.getDotPath(issue) ?? 'the body'}: ${issue.message}`);
}

/** Fails unless the document describes this status, these headers and this body. */
export function checkResponse(
  route: string,
  { status, headers, body, text }: Received,
  isHead = false,
): void {
  const where = `${route} returned ${status} ${JSON.stringify(headers)} ${text}`;
  const response = resolved(operationOf(route).responses[status]);
  assert(response, `The document has no such status: ${where}`);
  for (const name of KNOWN_HEADERS) {
    const header: Header | undefined = response.headers?.[name] && resolved(response.headers[name]);
    const value = headers[name.toLowerCase()];
    if (!header) assert(isUndocumented(name, value), `The document has no ${name} here: ${where}`);
    else if (value === undefined) assert(!header.required, `${name} is missing: ${where}`);
    else
      assert.equal(
        violationsOf(header.schema, typedValue(value, header.schema)),
        undefined,
        `${name}: ${where}`,
      );
  }
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const { schema } = response.content?.[type] ?? {};
  if (response.content) assert(schema, `The document has no ${type} here: ${where}`);
  if (isHead || !schema) {
    assert.equal(text, '', where);
    return;
  }
  const violations = violationsOf(schema, body);
  assert(!violations, `${violations} in openapi.json: ${where}`);
}

/** The violations of the document in a request: in its JSON body and in its query string. */
function violationsInRequest(route: string, path: string, { body, headers = {} }: Sent): string[] {
  const { requestBody, parameters = [] } = operationOf(route);
  const type = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  const isText = String(type).startsWith('text/plain');
  const content = requestBody?.content ?? {};
  const { schema } = isText ? (content['text/plain'] ?? {}) : (Object.values(content)[0] ?? {});
  const isForm = 'application/x-www-form-urlencoded' in content;
  const value = isText
    ? String(body).trim()
    : isForm && isRaw(body)
      ? Object.fromEntries(new URLSearchParams(textOf(body)))
      : schema && parsed(body);
  const inBody = schema ? [violationsOf(schema, value)] : [];
  const query = new URLSearchParams(path.split('?')[1]);
  const inQuery = parameters
    .filter(({ name, in: place }) => place === 'query' && query.has(name))
    .map((parameter) => violationsInQuery(parameter, query.getAll(parameter.name)));
  return [...inBody, ...inQuery].filter((violations) => violations !== undefined);
}

/** Whether the document lacks this query parameter: an unknown filter, or a cursor. */
function isUnknownParameter(route: string, path: string, name: string): boolean {
  const { parameters = [] } = operationOf(route);
  return (
    new URLSearchParams(path.split('?')[1]).has(name) &&
    !parameters.some((parameter) => parameter.name === name)
  );
}

const isRaw = (body: unknown): body is string | Uint8Array =>
  typeof body === 'string' || body instanceof Uint8Array;
const textOf = (body: string | Uint8Array): string => Buffer.from(body).toString();

/**
 * The JSON value of a body, with a fraction in place of a number that would be rounded. The service
 * normalizes new passwords before it counts their code points.
 */
function parsed(body: unknown): unknown {
  const value = parseJson(isRaw(body) ? textOf(body) : JSON.stringify(body));
  const text = JSON.stringify(value, (_, inner) => (Number.isNaN(inner) ? 0.5 : inner));
  return JSON.parse(text, (name, inner) =>
    /^(newP|p)assword$/.test(name) && typeof inner === 'string' ? inner.normalize('NFC') : inner,
  );
}

/** A parameter that is not an array can be repeated: all of its conditions must hold. */
function violationsInQuery(
  { schema, explode }: Parameter,
  values: readonly string[],
): string | undefined {
  const { type, items = schema } = resolved(schema as { type?: string; items?: Json });
  const ofValue = resolved(items as Json);
  const texts =
    type === 'array' && explode === false ? values.flatMap((value) => value.split(',')) : values;
  return texts.map((value) => violationsOf(ofValue, typedValue(value, ofValue))).find(Boolean);
}

function typedValue(text: string, { type }: Json): unknown {
  if (type === 'integer' && /^-?\d+$/.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

export type Params = Readonly<Record<string, string | number>>;

export function methodAndPath(route: string, params: Params = {}): [method: string, path: string] {
  const [method = '', pattern = ''] = route.split(' ');
  return [
    method,
    pattern.replace(/\{(\w+)\+?\}/g, (_, name) => encodeURIComponent(String(params[name]))),
  ];
}

/** Paths that cannot be decoded twice, and more than 10 KB of headers. */
const REJECTED_BY_API_GATEWAY = [
  '{"message":"Bad Request"}',
  '{"message":"Request Header Fields Too Large"}',
];

/** Fails if a request or its response violates the contract of its route or the document. */
export function checkContract(method: string, path: string, sent: Sent, received: Received): void {
  const isHead = method === 'HEAD';
  const { status, headers, body } = received;
  if (REJECTED_BY_API_GATEWAY.includes(received.text)) return;
  // Without a body, the media type shows that API Gateway rejected the path.
  if (isHead && status >= 400 && headers['content-type'] === 'application/json') return;
  const row = routeOf(isHead ? 'GET' : method, path);
  if (!row) return;
  const { route, contract } = row;
  const where = `${method} ${path} returned ${status} ${received.text}`;
  expectCommonHeaders(
    headers,
    where,
    status === 200 && contract.headers?.includes('Cache-Control'),
  );
  const hasBody = !isHead && status < 300;
  if (hasBody && contract.response) checkContractOf(`${route} ${status}`, contract.response, body);
  checkResponse(route, received, isHead);
  if (isHead || status === 304) return;
  if (status < 300) {
    assert.deepEqual(
      violationsInRequest(route, path, sent),
      [],
      `A request that the document forbids: ${where}`,
    );
    return;
  }
  assert.equal(Number(body.status), status, where);
  const isBeyondDocument = (error: FieldError) =>
    isBeyondJsonSchema(error) || isUnknownParameter(route, path, error.field);
  if (body.message === 'error.validation' && !body.fieldErrors.some(isBeyondDocument)) {
    assert.notDeepEqual(
      violationsInRequest(route, path, sent),
      [],
      `A request that the document allows: ${where}`,
    );
  }
}

function isBeyondJsonSchema(error: FieldError): boolean {
  const { field, message, allowed, pattern, min, unit } = error;
  // An environment can require longer passwords than the document.
  if (/password$/i.test(field) && Number(min) > PASSWORD_LENGTH.min) return true;
  if (message === 'Email' || unit === 'bytes') return true;
  // Lone surrogates, and dates whose year in UTC has more than four digits.
  if (message === 'Pattern') return !allowed && !pattern;
  // An address that is too long after normalization, a query that is too long for a link, a change
  // that is yet to come.
  return message === 'Size' && min === undefined;
}

/** Security headers, and `no-store` unless the response is cacheable. */
export function expectCommonHeaders(
  headers: Received['headers'],
  where: string,
  isCacheable = false,
): void {
  const expected = {
    vary: 'Origin',
    'cache-control': isCacheable ? 'public, max-age=300' : 'no-store',
    'x-content-type-options': 'nosniff',
    'strict-transport-security': 'max-age=63072000; includeSubDomains',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
  };
  assert.deepEqual(
    Object.fromEntries(Object.keys(expected).map((name) => [name, headers[name]])),
    expected,
    where,
  );
}

/** The route that API Gateway selects. It decodes the path first. */
function routeOf(method: string, path: string): Route | undefined {
  const [target = ''] = path.split('?');
  const segments = decodeURIComponent(target).split('?')[0]?.split('/') ?? [];
  const candidates = routes.filter(({ route }) => {
    const [routeMethod, routePath = ''] = route.split(' ');
    const pattern = routePath.split('/');
    return (
      routeMethod === method &&
      pattern.length === segments.length &&
      pattern.every((part, index) =>
        part.startsWith('{') ? segments[index] !== '' : segments[index] === part,
      )
    );
  });
  return candidates.find(({ route }) => !route.includes('{')) ?? candidates[0];
}
