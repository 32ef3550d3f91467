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

interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header | JsonSchema>>;
  readonly content?: Readonly<Record<string, object>>;
  readonly links?: object;
}

/** As API Gateway writes it. */
const REQUEST_ID = 'c6ZkUg1zDoEEMpA=';

const text = { type: 'string' };

/** The headers that responses can have. */
export const HEADERS: Readonly<
  Record<ResponseHeader | 'Retry-After' | 'WWW-Authenticate' | 'X-gatehouseApp-error', Header>
> = {
  Authorization: { description: '`Bearer` and the token.', required: true, schema: text },
  'Cache-Control': {
    description: 'How long the response can be kept. All other responses have `no-store`.',
    required: true,
    schema: { const: 'public, max-age=300' },
  },
  ETag: {
    description: 'The state of the entity, for If-Match and If-None-Match.',
    required: true,
    schema: text,
  },
  Link: {
    description:
      'Links to the pages `next`, `prev`, `last` and `first`, where they exist and fit (RFC 8288).',
    schema: text,
  },
  Location: { description: 'The path of the created entity.', required: true, schema: text },
  'X-Total-Count': {
    description: 'The number of entities on all pages.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
  },
  'X-gatehouseApp-alert': {
    description: 'The key of a notification about the change.',
    required: true,
    schema: text,
  },
  'X-gatehouseApp-params': {
    description: 'What the notification is about.',
    required: true,
    schema: text,
  },
  'X-gatehouseApp-error': {
    description: 'The `message` of the problem.',
    required: true,
    schema: text,
  },
  'Retry-After': {
    description: 'The seconds to wait.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': {
    description: 'The authentication scheme.',
    required: true,
    schema: { const: 'Bearer' },
  },
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
const SHARED: Readonly<Partial<Record<FailureCode, string>>> = {
  unauthorized: 'Unauthorized',
  forbidden: 'Forbidden',
  'cross-site': 'CrossSite',
  'version-changed': 'PreconditionFailed',
  'too-large': 'ContentTooLarge',
  'unsupported-media-type': 'UnsupportedMediaType',
  unavailable: 'ServiceUnavailable',
  unexpected: 'InternalServerError',
};
/** Statuses that only API Gateway responds with. */
const SHARED_FROM_API_GATEWAY = {
  400: 'BadRequest',
  429: 'TooManyRequests',
  431: 'RequestHeaderFieldsTooLarge',
};

/** The responses that several routes have. */
export function sharedResponses(): Record<string, Response> {
  const failures = Object.entries(SHARED).map(([code, name]) => {
    const { status } = problem(new Failure(code as FailureCode), 'userManagement', '/');
    const path = code === 'cross-site' ? '/api/authenticate' : '/api/users';
    return [
      name,
      rejection(String(status), [code as FailureCode], 'userManagement', path),
    ] as const;
  });
  const gateway = Object.entries(SHARED_FROM_API_GATEWAY).map(
    ([status, name]) => [name, rejection(status, [], 'userManagement', '')] as const,
  );
  return Object.fromEntries([...failures, ...gateway].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const NOT_MODIFIED: Response = {
  description: 'Not Modified: If-None-Match has the current ETag',
  headers: headersOf(['ETag']),
};

/** The responses of a route by status. */
export function responsesOf(
  { route, contract }: Route,
  example: unknown,
  links: object,
): Record<string, Response | JsonSchema> {
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
  if (code === undefined)
    return SHARED_FROM_API_GATEWAY[status as unknown as keyof typeof SHARED_FROM_API_GATEWAY];
  return others.length === 0 ? SHARED[code] : undefined;
}

/** The failures that a request can meet: those of the contract and those that its parts imply. */
function failuresOf(
  route: string,
  { access, path, query, body, failures = [] }: Contract,
): FailureCode[] {
  const isChange = !route.startsWith('GET ');
  const codes: FailureCode[] = [
    ...(access === 'public' ? (['cross-site'] as const) : (['unauthorized'] as const)),
    ...(access === 'public' || (access === 'authenticated' && !isChange)
      ? []
      : (['forbidden'] as const)),
    ...(body ? (['malformed', 'too-large', 'unsupported-media-type'] as const) : []),
    ...(body || query ? (['invalid'] as const) : []),
    ...(path ? (['not-found'] as const) : []),
    ...failures,
    'unavailable',
    'unexpected',
  ];
  return [...new Set(codes)];
}

function successOf(
  { headers = [], response }: Contract,
  example: unknown,
  links: object,
): Response {
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
): Response {
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
function someHeaders(
  names: readonly (readonly string[])[],
  isOptional: boolean,
): Record<string, Header | JsonSchema> {
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
