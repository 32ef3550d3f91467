import type { Contract, ResponseHeader } from '../../lib/contract/contract.ts';
import { Failure, type FailureCode } from '../../lib/contract/failure.ts';
import { SCIM_TYPE } from '../../lib/http/body.ts';
import { problem } from '../../lib/http/problem.ts';
import { rejectionOf } from '../../lib/http/rejection.ts';
import { ERROR_SCHEMA } from '../../lib/http/scim-error.ts';
import { needsFactor } from '../../lib/users/user-factor.ts';
import { countsChanges, type Route } from '../../routes.ts';
import { EDGE_REJECTION } from '../settings/edge.ts';
import { jsonSchemaOf } from './schemas.ts';

/* The responses of the service, and of API Gateway and the optional edge in front of it. */

const required = (description: string, schema: object = { type: 'string' }) => ({
  description,
  required: true,
  schema,
});

const TOKEN_ERROR = '("invalid_token"|"insufficient_scope"(, scope="[a-z:-]+")?)';

export const HEADERS: Readonly<
  Record<ResponseHeader | 'Retry-After' | 'WWW-Authenticate' | 'X-gatehouseApp-error', object>
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
  'X-Total-Count': required('The number of entities on all pages, if it is known.', {
    type: 'integer',
    minimum: 0,
  }),
  'X-gatehouseApp-alert': required('The key of a notification about the change.'),
  'X-gatehouseApp-params': required('What the notification is about.'),
  'X-gatehouseApp-error': required('The `message` of the problem.'),
  'Retry-After': required('The seconds to wait.', { type: 'integer', minimum: 1 }),
  'WWW-Authenticate': required(
    'The authentication scheme, and why a token was rejected (RFC 6750).',
    { type: 'string', pattern: `^(Bearer( error=${TOKEN_ERROR})?|Basic realm="modules")$` },
  ),
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

const NOT_MODIFIED = {
  description: 'Not Modified: If-None-Match has the current ETag',
  headers: headersOf([['ETag']]),
};

/** What several routes can have, by name: parameters, rejections, and examples of problems. */
export interface Shared {
  readonly parameters: Record<string, object>;
  readonly responses: Record<string, object>;
  readonly examples: Record<string, object>;
}

/** The responses of a route by status. Rejections go to `shared`, to which the route refers. */
export function responsesOf(
  { route, contract }: Route,
  example: unknown,
  links: object,
  shared: Shared,
): object {
  const [method] = route.split(' ');
  const { status = 200, headers = [], optionalHeaders = [], response, scim } = contract;
  const type = scim ? SCIM_TYPE : 'application/json';
  const codesByStatus: Readonly<Record<string, FailureCode[]>> = {
    ...Object.fromEntries(Object.keys(FROM_API_GATEWAY).map((status) => [status, []])),
    ...Object.groupBy(failuresOf({ route, contract }), (code) => statusOf(code, contract)),
  };
  const rejections = Object.entries(codesByStatus).map(([status, codes]) => {
    const name = nameOf(status, codes, contract);
    shared.responses[name] ??= rejection(Number(status), codes, contract, shared.examples);
    return [status, { $ref: `#/components/responses/${name}` }];
  });
  return {
    [status]: {
      description: response ? 'Success' : 'Success; the response has no body',
      headers: headersOf([headers, [...headers, ...optionalHeaders]]),
      content: response && { [type]: { schema: jsonSchemaOf(response), example } },
      links: Object.keys(links).length > 0 ? links : undefined,
    },
    ...(method === 'GET' &&
      [...headers, ...optionalHeaders].includes('ETag') && { 304: NOT_MODIFIED }),
    ...Object.fromEntries(rejections),
  };
}

/** The name of what these failures have in common, with the kind of entity if one names it. */
function nameOf(
  first: string,
  codes: readonly FailureCode[],
  { entityName, oauth, scim }: Contract,
): string {
  const bodyOf = (code: FailureCode, name: typeof entityName) =>
    JSON.stringify(problem(new Failure(code), name, PATH));
  const isNamed = codes.some((code) => bodyOf(code, entityName) !== bodyOf(code, undefined));
  const protocol = (oauth && 'oauth') || (scim && 'scim');
  return [first, codes.length > 0 && protocol, isNamed && entityName, ...codes]
    .filter(Boolean)
    .join('.');
}

/** The path in examples, which belong to many routes. */
const PATH = '/api/\u2026';

const statusOf = (code: FailureCode, contract: Contract): number =>
  rejectionOf(contract, new Failure(code), '').status;

/** The failures that a request can meet: what the contract states and what its parts imply. */
function failuresOf(row: Pick<Route, 'route' | 'contract'>): FailureCode[] {
  const { access, path, query, body, failures = [] } = row.contract;
  const codes: (FailureCode | false)[] = [
    ...(access === 'public'
      ? (['cross-site'] as const)
      : (['unauthorized', 'invalid-token', 'insufficient-scope'] as const)),
    needsFactor(access) && 'second-factor-required',
    typeof access === 'object' && 'forbidden',
    ...(body ? (['malformed', 'too-large', 'unsupported-media-type'] as const) : []),
    (body ?? query) !== undefined && 'invalid',
    path !== undefined && 'not-found',
    ...failures,
    countsChanges(row) && 'change-budget-spent',
    'unavailable',
    'unexpected',
  ];
  return [...new Set(codes.filter((code) => code !== false))];
}

/** The headers of responses with the same status: optional if some of these do not have them. */
function headersOf(lists: readonly (readonly string[])[]): object | undefined {
  const headers = [...new Set(lists.flat())].map((name) => [
    name,
    lists.every((list) => list.includes(name))
      ? { $ref: `#/components/headers/${name}` }
      : { ...HEADERS[name as keyof typeof HEADERS], required: undefined },
  ]);
  return headers.length > 0 ? Object.fromEntries(headers) : undefined;
}

/** The response of the service, of API Gateway and of an edge with a status. */
function rejection(
  status: number,
  codes: readonly FailureCode[],
  contract: Contract,
  sharedExamples: Shared['examples'],
): object {
  const { oauth, scim } = contract;
  const problems = codes.map((code) => {
    const failure = new Failure(code, DETAILS[code]);
    // The request id is one of API Gateway.
    const requestId = code === 'unexpected' ? 'c6ZkUg1zDoEEMpA=' : undefined;
    const { headers, body } = rejectionOf(contract, failure, PATH, requestId);
    const { 'Content-Type': _type, ...special } = headers ?? {};
    return { code, headers: Object.keys(special), body: JSON.parse(String(body)) };
  });
  const origins = problems.map(({ headers, body }) => ({
    headers,
    title: body.title ?? body.error ?? body.detail,
  }));
  const gateway = FROM_API_GATEWAY[status];
  if (gateway) origins.push({ headers: [], title: `API Gateway: ${gateway}` });
  if (status === EDGE_REJECTION.status)
    origins.push({ headers: ['Retry-After'], title: `an edge: ${EDGE_REJECTION.body.title}` });
  const messages = new Set(problems.map(({ body }) => body.message));
  const common = { status: { const: status }, message: { enum: [...messages] } };
  const ofService = {
    allOf: [{ $ref: '#/components/schemas/Problem' }],
    properties: common,
  };
  const ofOAuth = {
    type: 'object',
    required: ['error', 'error_description', 'status', 'message'],
    properties: {
      error: { type: 'string', enum: [...new Set(problems.map(({ body }) => body.error))] },
      error_description: { type: 'string' },
      ...common,
      requestId: { type: 'string' },
      fieldErrors: { type: 'array', items: { $ref: '#/components/schemas/FieldError' } },
    },
  };
  const ofGateway = { $ref: '#/components/schemas/GatewayError' };
  const examples = Object.fromEntries(
    problems.map(({ code, body }) => {
      const name = nameOf('', [code], contract);
      sharedExamples[name] = { value: body };
      return [code, { $ref: `#/components/examples/${name}` }];
    }),
  );
  const hasProblems = problems.length > 0;
  return {
    description: [...new Set(origins.map(({ title }) => title))].join('; '),
    headers: headersOf(origins.map(({ headers }) => headers)),
    content:
      oauth && hasProblems
        ? {
            'application/json': {
              schema: { anyOf: [ofOAuth, ofGateway] },
              examples,
            },
          }
        : {
            [scim ? SCIM_TYPE : 'application/problem+json']: hasProblems
              ? { schema: scim ? scimErrorWith(status, problems) : ofService, examples }
              : undefined,
            'application/json': gateway && { schema: ofGateway, example: { message: gateway } },
          },
  };
}

/** The schema of an error (RFC 7644, 3.12). */
function scimErrorWith(
  status: number,
  errors: readonly { readonly body: { readonly scimType?: string } }[],
): object {
  const scimTypes = errors.flatMap(({ body }) => body.scimType ?? []);
  return {
    type: 'object',
    required: ['schemas', 'status', 'detail'],
    properties: {
      schemas: { type: 'array', items: { const: ERROR_SCHEMA } },
      status: { const: String(status) },
      scimType: scimTypes.length > 0 ? { type: 'string' } : undefined,
      detail: { type: 'string' },
    },
    additionalProperties: false,
  };
}

const RETRY = { retryAfter: 4 };
const DETAILS: Partial<Record<FailureCode, ConstructorParameters<typeof Failure>[1]>> = {
  invalid: { fieldErrors: [{ field: 'field', message: 'Size', min: 1, max: 255 }] },
  'insufficient-scope': { scope: 'scim' },
  'too-many-attempts': RETRY,
  'read-budget-spent': RETRY,
  'change-budget-spent': RETRY,
};
