import type { Access, Contract, Tag } from '../../lib/contract/contract.ts';
import type { Route } from '../../routes.ts';
import { EXAMPLES } from './examples.ts';
import { linksOf, operationIdOf } from './links.ts';
import { parametersOf } from './parameters.ts';
import { HEADERS, responsesOf, sharedResponses } from './responses.ts';
import { jsonSchemaOf, namedSchemas, withNamedValues } from './schemas.ts';

// A backslash continues a line of the text.
const DESCRIPTION = `The administration service of a security-monitoring platform: users, roles \
and passwords; integrations (data sources
and sinks) and their parameters.

- A body is one JSON object of at most 64 KiB. Unknown fields are ignored. Lengths are in code \
points.
- A list is an array with the header \`Link\`, and except for the audit trail \`X-Total-Count\`. \
Follow \`next\` as it is, even
  after a page that is not full. All filters must hold; the name of a field alone means \
\`equals\`. A parameter with a dot
  must be a filter of the list, and other unknown parameters are ignored.
- Responses with one entity carry an \`ETag\`. With \`If-Match\`, a change fails with 412 if the \
entity has changed since; with
  \`If-None-Match\`, a read returns 304 if it has not.
- HEAD is answered like GET, without a body.
- A rejected request gets a problem (RFC 9457), whose \`message\` is a key that clients \
translate. Wait for the seconds in
  \`Retry-After\` after 429 and 503, and for longer and longer after a 429 without it. After 500, \
502, 503 or 504, a change
  may have been made: look before you repeat it.
- The examples of changes do no harm: their ids, logins, addresses, passwords and keys are \
placeholders.`;

const TAGS: Readonly<Record<Tag, string>> = {
  Tokens: 'Logging in, and verifying tokens.',
  Account: "The caller's own account.",
  Users: 'User accounts and their roles.',
  Integrations: 'Data sources and sinks.',
  Parameters: 'The configuration parameters of integrations; their values can be secrets.',
  'Audit trail': 'Who changed what, and when.',
  Status: 'The service itself.',
};

function openApiDocument(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const row of routes) {
    const [method = '', path = ''] = row.route.split(' ');
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: operationOf(row, linksOf(row, routes)),
    };
  }
  const responses = sharedResponses();
  const used = JSON.stringify({ paths, responses });
  const headers = Object.entries(HEADERS).filter(([name]) =>
    used.includes(`"#/components/headers/${name}"`),
  );
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse',
      version: '1',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The service that serves this document' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: withNamedValues(paths),
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      headers: Object.fromEntries(headers),
      responses,
      schemas: namedSchemas(),
    },
  };
}

export const openApiText = (routes: readonly Route[]): string =>
  `${JSON.stringify(openApiDocument(routes), null, 1)}\n`;

function operationOf(row: Route, links: object): object {
  const { contract, route } = row;
  const example = EXAMPLES[route] ?? {};
  const isList = contract.headers?.includes('Link') ?? false;
  const parameters = parametersOf(contract, isList, example.path ?? {});
  return {
    operationId: operationIdOf(row),
    summary: contract.summary,
    description: accessSentence(contract.access),
    tags: [contract.tag],
    security: contract.access === 'public' ? [] : [{ token: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(contract.body && { requestBody: requestBodyOf(contract, example.body) }),
    responses: responsesOf(row, example.response, links),
  };
}

function accessSentence(access: Access): string {
  if (access === 'public') return 'Requires no token.';
  return access === 'authenticated'
    ? 'Requires a token.'
    : `Requires ${access.anyRole.join(' or ')}.`;
}

function requestBodyOf({ body, textAs }: Contract, example: unknown): object {
  const schema = body && jsonSchemaOf(body);
  const { properties = {} } = schema as { properties?: Record<string, object> };
  return {
    required: true,
    content: {
      'application/json': { schema, example },
      ...(textAs && {
        'text/plain': {
          schema: properties[textAs],
          example: (example as Record<string, unknown>)[textAs],
        },
      }),
    },
  };
}
