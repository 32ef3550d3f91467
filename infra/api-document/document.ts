import { type Contract, scopeOf, type Tag } from '../../lib/contract/contract.ts';
import { SCIM_TYPE } from '../../lib/http/body.ts';
import { MODULE_SCOPE } from '../../lib/modules/credential-contracts.ts';
import project from '../../package.json' with { type: 'json' };
import { type Route, routes } from '../../routes.ts';
import { EXAMPLES } from './examples.ts';
import { filterSchemas, parametersOf } from './parameters.ts';
import { HEADERS, responsesOf, type Shared } from './responses.ts';
import { jsonSchemaOf, namedSchemas, withNamedValues } from './schemas.ts';

// A backslash continues a line of the text.
const DESCRIPTION = `The administration service of a security-monitoring platform: users, roles \
and passwords; integrations (data sources
and sinks) and their parameters.

- A body is one JSON object of at most 64 KiB. Unknown fields are ignored. Lengths are in code \
points.
- A list is an array with the header \`Link\` and, except for the audit trail and filters of \
long lists, \`X-Total-Count\`. Follow \`next\` as it is, even
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
- After 401, log in again: the token has expired or has been ended. After 403, that does not \
help: the user lacks the role.
- The examples of changes do no harm: their ids, logins, addresses, passwords and keys are \
placeholders.`;

const TAGS: Readonly<Record<Tag, string>> = {
  Tokens: 'Logging in, verifying tokens, and API tokens for scripts.',
  'Single sign-on': 'Logging in with the OpenID provider of a company.',
  Sessions: 'Who is logged in where, and how to end it.',
  'Second factor': 'One-time codes of an authenticator (TOTP, RFC 6238) beside the password.',
  Account: "The caller's own account.",
  Users: 'User accounts and their roles.',
  Integrations: 'Data sources and sinks.',
  Parameters: 'The configuration parameters of integrations; their values can be secrets.',
  Modules: 'What modules run, and how they authenticate themselves.',
  Plans: 'Users, integrations and parameters as files say.',
  Provisioning: 'Deprovisioning by an identity provider, with SCIM 2.0 (RFC 7644).',
  'Audit trail': 'Who changed what, and when.',
  Status: 'The service itself.',
};

const TOKEN = {
  public: 'no token',
  'issued-token': 'a token, whose session may have ended',
  enrolling: 'a token, even without a required second factor',
  authenticated: 'a token',
};

function openApiDocument(): object {
  const paths: Record<string, object> = {};
  const shared: Shared = { parameters: {}, responses: {}, examples: {} };
  for (const row of routes) {
    const [method = '', path = ''] = row.route.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(row, shared) };
  }
  const sorted = (entries: object) =>
    Object.fromEntries(
      Object.entries(entries).toSorted(([one], [other]) => (one < other ? -1 : 1)),
    );
  const responses = sorted(shared.responses);
  const used = JSON.stringify({ paths, responses });
  const headers = Object.entries(HEADERS).filter(([name]) =>
    used.includes(`"#/components/headers/${name}"`),
  );
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse',
      version: project.version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The service that serves this document' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        module: {
          type: 'oauth2',
          flows: {
            clientCredentials: {
              tokenUrl: '/api/oauth2/token',
              scopes: { [MODULE_SCOPE]: 'What a module may do, which every token allows.' },
            },
          },
        },
      },
      headers: Object.fromEntries(headers),
      parameters: sorted(shared.parameters),
      responses,
      examples: sorted(shared.examples),
      schemas: { ...filterSchemas(), ...namedSchemas() },
    },
  };
}

export const openApiText = (): string =>
  `${compact(JSON.parse(JSON.stringify(openApiDocument(), withNamedValues)), '')}\n`;

const WIDTH = 120;

/** JSON with what fits on a line on one line, so that a difference shows whole entries. */
function compact(value: unknown, indent: string): string {
  const line = JSON.stringify(value);
  if (typeof value !== 'object' || value === null || indent.length + line.length <= WIDTH)
    return line;
  const inner = `${indent} `;
  const [[open, close], lines] = Array.isArray(value)
    ? ['[]', value.map((item) => compact(item, inner))]
    : [
        '{}',
        Object.entries(value).map(
          ([name, item]) => `${JSON.stringify(name)}: ${compact(item, inner)}`,
        ),
      ];
  return `${open}\n${lines.map((text) => `${inner}${text}`).join(',\n')}\n${indent}${close}`;
}

function operationOf(row: Route, shared: Shared): object {
  const { contract, route } = row;
  const { access, summary, tag } = contract;
  const scope = scopeOf(contract);
  const example = EXAMPLES[route] ?? {};
  const admitsModule = typeof access === 'object' && access.module;
  const required =
    typeof access === 'object'
      ? [...access.anyRole, ...(admitsModule ? ['the module of the integration'] : [])].join(' or ')
      : TOKEN[access];
  const security = [
    ...(access === 'public' || (admitsModule && access.anyRole.length === 0)
      ? []
      : [{ token: [] }]),
    ...(admitsModule ? [{ module: [] }] : []),
  ];
  const parameters = parametersOf(contract, example.path).map((parameter) =>
    sharedWith(shared.parameters, parameter),
  );
  return {
    operationId: operationIdOf(row),
    summary,
    description: `Requires ${required}${scope ? `; of API tokens, ${scope}` : ''}.`,
    tags: tag && [tag],
    security,
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: requestBodyOf(contract, example.body),
    responses: responsesOf(row, example.response, linksOf(row), shared),
  };
}

/** A reference to the parameter, unless another one has its name. */
function sharedWith(
  parameters: Shared['parameters'],
  parameter: { readonly name: string },
): object {
  const { name } = parameter;
  parameters[name] ??= parameter;
  return JSON.stringify(parameters[name]) === JSON.stringify(parameter)
    ? { $ref: `#/components/parameters/${name}` }
    : parameter;
}

const operationIdOf = ({ handler }: Route): string =>
  handler.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/**
 * What a client can do next: with a created entity, the paths below its own and its PUT; with the
 * first entity of a list, its PUT. Fuzzers use links to reach later requests.
 */
function linksOf({ route, contract }: Route): object {
  const isCreation = contract.status === 201;
  const [, collection] = route.split(' ');
  const links: Record<string, object> = {};
  for (const row of routes) {
    const operationId = operationIdOf(row);
    const [method, path = ''] = row.route.split(' ');
    if (method === 'PUT' && path === collection && row.route !== route) {
      const requestBody = isCreation ? '$response.body' : '$response.body#/0';
      links[operationId] = { operationId, requestBody };
    } else if (isCreation && path.startsWith(`${collection}/`)) {
      // The parameter of the path has the name of the field that identifies the entity.
      const [, name] = /\{(\w+)\}/.exec(path) ?? [];
      if (name)
        links[operationId] = { operationId, parameters: { [name]: `$response.body#/${name}` } };
    }
  }
  return links;
}

function requestBodyOf(
  { body, textAs, oauth, scim }: Contract,
  example: unknown,
): object | undefined {
  if (!body) return undefined;
  const schema: { properties?: Record<string, object> } = jsonSchemaOf(body);
  return {
    required: true,
    content: {
      ...(scim && { [SCIM_TYPE]: { schema, example } }),
      [oauth ? 'application/x-www-form-urlencoded' : 'application/json']: { schema, example },
      'text/plain': textAs && {
        schema: schema.properties?.[textAs],
        example: Object(example)[textAs],
      },
    },
  };
}
