import type { Contract, EntityName, ResponseHeader } from '../../lib/contract/contract.ts';
import { Failure, type FailureCode } from '../../lib/contract/failure.ts';
import { problem } from '../../lib/http/problem.ts';
import type { Route } from '../../routes.ts';
import { EDGE_REJECTION } from '../stack/edge-rejection.ts';
import type { JsonSchema } from './json-schema.ts';
import { jsonSchemaOf } from './schemas.ts';

/*
 * The responses of an operation: of the service, and of API Gateway and the optional edge in front
 * of it.
 */

interface Header {
  readonly description: string;
  readonly required?: true;
  readonly schema: JsonSchema;
}
type Headers = Readonly<Record<string, Header | JsonSchema>>;

/** As API Gateway writes it. */
const REQUEST_ID = 'c6ZkUg1zDoEEMpA=';

const required = (description: string, schema: JsonSchema = { type: 'string' }): Header => ({
  description,
  required: true,
  schema,
});

export const HEADERS: Readonly<
  Record<ResponseHeader | 'Retry-After' | 'WWW-Authenticate' | 'X-gatehouseApp-error', Header>
> = {
  Authorization: required('`Bearer` and the token.'),
  'Cache-Control': required(
    'How long the response can be kept. All other responses have `no-store`.',
    { const: 'public, max-age=300' },
  ),
  ETag: required('The state of the entity, for If-Match and If-None-Match.'),
  Link: {
    description:
      'Links to the pages `next`, `prev`, `last` and `first`, where they exist and fit (RFC 8288).',
    schema: { type: 'string' },
  },
  Location: required('The path of the created entity.'),
  'X-Total-Count': required('The number of entities on all pages.', {
    type: 'integer',
    minimum: 0,
  }),
  'X-gatehouseApp-alert': required('The key of a notification about the change.'),
  'X-gatehouseApp-params': required('What the notification is about.'),
  'X-gatehouseApp-error': required('The `message` of the problem.'),
  'Retry-After': required('The seconds to wait.', { type: 'integer', minimum: 1 }),
  'WWW-Authenticate': required('The authentication scheme.', { const: 'Bearer' }),
};

/** Responses of API Gateway itself that every route can have. */
const FROM_API_GATEWAY: Readonly<Record<string, string>> = {
  400: 'Bad Request',
  413: 'Request Entity Too Large',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** Failures that are the only one with their status, and look the same on every route. */
const SHARED: Readonly<Record<string, FailureCode>> = {
  Unauthorized: 'unauthorized',
  Forbidden: 'forbidden',
  CrossSite: 'cross-site',
  PreconditionFailed: 'version-changed',
  ContentTooLarge: 'too-large',
  UnsupportedMediaType: 'unsupported-media-type',
  ServiceUnavailable: 'unavailable',
  InternalServerError: 'unexpected',
};
/** Statuses that only API Gateway responds with. */
const SHARED_FROM_API_GATEWAY: Readonly<Record<string, string>> = {
  400: 'BadRequest',
  429: 'TooManyRequests',
  431: 'RequestHeaderFieldsTooLarge',
};

export function sharedResponses(): Record<string, object> {
  const failures = Object.entries(SHARED).map(([name, code]): [string, object] => {
    const { status } = problem(new Failure(code), 'userManagement', '/');
    const path = code === 'cross-site' ? '/api/authenticate' : '/api/users';
    return [name, rejection(String(status), [code], 'userManagement', path)];
  });
  const gateway = Object.entries(SHARED_FROM_API_GATEWAY).map(
    ([status, name]): [string, object] => [name, rejection(status, [], 'userManagement', '')],
  );
  return Object.fromEntries([...failures, ...gateway].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const NOT_MODIFIED = {
  description: 'Not Modified: If-None-Match has the current ETag',
  headers: headersOf(['ETag']),
};

export function responsesOf(
  { route, contract }: Route,
  example: unknown,
  links: object,
): Record<string, object> {
  const codes = failuresOf(route, contract);
  const path = route.slice(route.indexOf(' ') + 1);
  const failures = Map.groupBy(codes, (code) =>
    String(problem(new Failure(code), contract.entityName, path).status),
  );
  const statuses = [...new Set([...failures.keys(), ...Object.keys(FROM_API_GATEWAY)])].toSorted();
  return {
    [contract.status ?? 200]: successOf(contract, example, links),
    ...(route.startsWith('GET ') && contract.headers?.includes('ETag') && { 304: NOT_MODIFIED }),
    ...Object.fromEntries(
      statuses.map((status) => {
        const codes = failures.get(status) ?? [];
        const shared = sharedName(status, codes);
        if (shared) return [status, { $ref: `#/components/responses/${shared}` }];
        return [status, rejection(status, codes, contract.entityName, path)];
      }),
    ),
  };
}

function sharedName(status: string, [code, ...others]: readonly FailureCode[]): string | undefined {
  if (code === undefined) return SHARED_FROM_API_GATEWAY[status];
  return Object.keys(SHARED).find((name) => others.length === 0 && SHARED[name] === code);
}

/** The failures that a request can meet: those of the contract and those that its parts imply. */
function failuresOf(
  route: string,
  { access, path, query, body, failures = [] }: Contract,
): FailureCode[] {
  const isForAll = access === 'authenticated' && route.startsWith('GET ');
  const codes: (FailureCode | false)[] = [
    access === 'public' ? 'cross-site' : 'unauthorized',
    access !== 'public' && !isForAll && 'forbidden',
    ...(body ? (['malformed', 'too-large', 'unsupported-media-type'] as const) : []),
    (body ?? query) !== undefined && 'invalid',
    path !== undefined && 'not-found',
    ...failures,
    'unavailable',
    'unexpected',
  ];
  return [...new Set(codes.filter((code) => code !== false))];
}

function successOf({ headers = [], response }: Contract, example: unknown, links: object): object {
  return {
    description: response ? 'Success' : 'Success; the response has no body',
    ...(headers.length > 0 && { headers: headersOf(headers) }),
    ...(response && {
      content: { 'application/json': { schema: jsonSchemaOf(response), example } },
    }),
    ...(Object.keys(links).length > 0 && { links }),
  };
}

function headersOf(names: readonly string[]): Record<string, JsonSchema> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function rejection(
  status: string,
  codes: readonly FailureCode[],
  entityName: EntityName | undefined,
  path: string,
): object {
  const problems = codes.map((code) => {
    const requestId = code === 'unexpected' ? REQUEST_ID : undefined;
    const { headers, body } = problem(exampleOf(code), entityName, path, requestId);
    return { code, headers, body: JSON.parse(String(body)) as { title: string; message: string } };
  });
  const bodies = problems.map(({ body }) => body);
  const gateway = FROM_API_GATEWAY[status];
  const isFromEdge = status === String(EDGE_REJECTION.status);
  const names = problems.map(({ headers = {} }) =>
    Object.keys(headers).filter((name) => name !== 'Content-Type'),
  );
  if (isFromEdge) names.push(['Retry-After']);
  return {
    description: [
      ...new Set(bodies.map(({ title }) => title)),
      ...(gateway ? [`API Gateway: ${gateway}`] : []),
      ...(isFromEdge ? [`an edge: ${EDGE_REJECTION.body.title}`] : []),
    ].join('; '),
    ...(names.flat().length > 0 && { headers: someHeaders(names, gateway !== undefined) }),
    content: {
      ...(problems.length > 0 && {
        'application/problem+json': {
          schema: problemSchema(
            Number(status),
            bodies.map(({ message }) => message),
          ),
          examples: Object.fromEntries(problems.map(({ code, body }) => [code, { value: body }])),
        },
      }),
      ...(gateway && {
        'application/json': {
          schema: { $ref: '#/components/schemas/GatewayError' },
          example: { message: gateway },
        },
      }),
    },
  };
}

/** The headers of responses with the same status: optional if some of these do not have them. */
function someHeaders(names: readonly (readonly string[])[], isOptional: boolean): Headers {
  const all = [...new Set(names.flat())];
  const headers = all.map((name) => {
    if (!isOptional && names.every((each) => each.includes(name)))
      return [name, { $ref: `#/components/headers/${name}` }];
    const { required: _optional, ...header } = HEADERS[name as keyof typeof HEADERS];
    return [name, header];
  });
  return Object.fromEntries(headers);
}

function problemSchema(status: number, messages: readonly string[]): JsonSchema {
  return {
    allOf: [{ $ref: '#/components/schemas/Problem' }],
    required: ['status', 'message'],
    properties: { status: { const: status }, message: { enum: [...new Set(messages)] } },
  };
}

function exampleOf(code: FailureCode): Failure {
  if (code === 'invalid')
    return new Failure(code, {
      fieldErrors: [{ field: 'field', message: 'Size', min: 1, max: 255 }],
    });
  const waits = code === 'too-many-attempts' || code === 'read-budget-spent';
  return new Failure(code, waits ? { retryAfter: 4 } : {});
}
