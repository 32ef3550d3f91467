import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import type { Scope } from '../../lib/contract/contract.ts';
import { runNode } from '../support/commands/run-command.ts';
import { newFolder, removeFolders } from '../support/instance/folders.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { openSetup } from '../support/instance/setup.ts';

/* examples/plan: users and integrations from files, by the command and against the service. */

const SCOPES: Scope[] = ['plans:write', 'users:read', 'integrations:read', 'parameters:read'];
const VALUE = 'swordfish';

const applications: string[] = [];
const gatehouse = await useGatehouse({
  intercept(call, forward) {
    if (call.functionName === 'POST /api/apply' && call.operation === 'TransactWriteItems')
      applications.push(call.operation);
    return forward();
  },
});
let GATEHOUSE_TOKEN: string;
beforeAll(async () => {
  const setup = await openSetup(gatehouse);
  GATEHOUSE_TOKEN = (await setup.apiToken((await setup.account()).user, SCOPES)).token;
});
beforeEach(() => {
  applications.length = 0;
});
afterAll(removeFolders);

async function run(program: string, args: readonly string[], environment: object) {
  const file = join(import.meta.dirname, '../../examples/plan', program);
  const variables = { GATEHOUSE_URL: gatehouse.cloud.url, GATEHOUSE_TOKEN, ...environment };
  const { code, stdout, stderr } = await runNode([file, ...args], variables);
  expect(stdout + stderr).not.toContain(VALUE);
  return { code, lines: stdout.trimEnd().split('\n'), errors: stderr.trimEnd().split('\n') };
}

const planned = (args: readonly string[], environment = {}) =>
  run('gatehouse-plan.ts', args, environment);

function folderOf(files: Readonly<Record<string, unknown>>) {
  const folder = newFolder();
  const write = (name: string, content: unknown) => {
    const text = name.endsWith('.json') ? JSON.stringify(content) : stringify(content);
    writeFileSync(join(folder, name), typeof content === 'string' ? content : text);
  };
  for (const [name, content] of Object.entries(files)) write(name, content);
  return { folder, write, at: (place: string) => join(folder, place) };
}

const userNamed = (login: string) => ({ login, email: `${login}@example.com` });
const tap = (name: string, parameters: object[]) => ({
  name,
  shortName: 'tap',
  integrationType: 'API',
  parameters,
});
const host = { confName: 'host', confValue: 'a.example' };
const secret = { confName: 'key', secret: { name: 'TAP_KEY', version: 1 } };

it('makes what files say, changes it and changes it back', async () => {
  const users = Array.from({ length: 20 }, (_, index) => userNamed(`flow-${index}`));
  const integrations = Array.from({ length: 10 }, (_, index) => tap(`Flow ${index}`, [host]));
  const { folder, write } = folderOf({
    'users.yaml': { set: 'flow', users },
    'taps.json': { integrations },
  });

  const first = await planned([folder]);
  expect(first).toMatchObject({ code: 2, errors: [''] });
  expect(first.lines.slice(0, 2)).toEqual(['+ user "flow-0"', '    login: "flow-0"']);
  expect(first.lines.at(-1)).toBe('Plan: 40 to create, 0 to change, 0 to delete.');
  expect(await planned(['apply', folder])).toMatchObject({
    code: 0,
    errors: ['40 of 40 changes are made'],
  });
  const nothing = [
    'Everything is as the files say.',
    'Plan: 0 to create, 0 to change, 0 to delete.',
  ];
  expect(await planned(['plan', folder])).toEqual({ code: 0, lines: nothing, errors: [''] });
  expect(applications.splice(0).length).toBeGreaterThan(1);
  expect(await planned(['apply', folder])).toMatchObject({ code: 0, lines: nothing });
  expect(applications).toEqual([]);

  const [one, ...rest] = users;
  const other = tap('Flow 0', [{ ...host, confValue: 'b.example' }]);
  write('users.yaml', { set: 'flow', users: [{ ...one, lastName: 'Ash' }, ...rest.slice(1)] });
  write('taps.json', { integrations: [other] });
  const changed = await planned(['apply', '--prune', 'users', folder]);
  expect(changed).toMatchObject({ code: 0, errors: ['3 of 3 changes are made'] });
  expect(
    changed.lines.filter((line: string) => !/^ +(login|email|activated|lang|managed)/.test(line)),
  ).toEqual([
    '~ user "flow-0"',
    '    lastName: "Ash"',
    '~ parameter "host" of integration "Flow 0"',
    '    confValue: "a.example" → "b.example"',
    '- user "flow-1"',
    'Plan: 0 to create, 2 to change, 1 to delete.',
  ]);
  write('users.yaml', { set: 'flow', users: [{ ...one, lastName: null }, ...rest] });
  write('taps.json', { integrations });
  const undone = await planned(['apply', folder]);
  expect(undone).toMatchObject({ code: 0, errors: ['3 of 3 changes are made'] });
  expect(undone.lines).toContain('    lastName: "Ash" → null');
});

it('states each mistake with its file, line and field before any request', async () => {
  const { folder, at } = folderOf({
    'a.yaml': 'set: office\nset: office\n',
    'b.yml': 'users:\n  - login: [\n',
    'c.json': '[]',
    'd.yaml': 'users: !all\n',
    'e.yaml': `# Comments count
users:
  - login: una
    email: una@example.com
    age: 7
  - login: vic
    email: vic
    activated: 'yes'
    firstName: ${'x'.repeat(51)}
    authorities:
      - ROLE_ROOT
  - email: vic@example.com
  - login: wil
    email: UNA@example.com
integrations:
  - {name: Tap, shortName: tap, integrationType: API, parameters: [
      {confName: port, confValue: 514},
      {confName: host, confValue: a, secret: keep},
      {confName: key, secret: {name: TAP_KEY, version: 0}},
      {confName: key, secret: 1}]}
prune: users
`,
    'f.txt': 'not read',
  });

  const { code, errors } = await planned(['apply', folder], { GATEHOUSE_URL: 'http://[::1]:1' });

  expect(code).toBe(1);
  expect(errors).toEqual(
    [
      'a.yaml:2: Map keys must be unique',
      expect.stringMatching(/b\.yml:3: Flow sequence .* must .* end with a \]/),
      'c.json:1: must be a map with set, users, integrations, prune',
      'd.yaml:1: Unresolved tag: !all',
      'e.yaml:5: users.0.age: is unknown; the fields are login, email, firstName, lastName, ' +
        'imageUrl, activated, langKey, authorities',
      'e.yaml:7: users.1.email: must be an e-mail address',
      'e.yaml:9: users.1.firstName: must be at least 0 and at most 50 characters',
      'e.yaml:8: users.1.activated: must be true or false',
      'e.yaml:11: users.1.authorities.0: must be one of ROLE_ADMIN, ROLE_USER, ROLE_ANALYST',
      'e.yaml:12: users.2.login: is missing or empty',
      'e.yaml:17: integrations.0.parameters.0.confValue: must be a text, in quotes if it looks ' +
        'like something else',
      'e.yaml:18: integrations.0.parameters.1: must have either confValue or secret',
      'e.yaml:19: integrations.0.parameters.2.secret.version: must be at least 1',
      'e.yaml:20: integrations.0.parameters.3.secret: must be keep, or a map with name, version',
      'e.yaml:21: prune: must be a list',
    ].map((line) => (typeof line === 'string' ? at(line) : line)),
  );
});

it.each<[string, Record<string, string>, string[]]>([
  [
    'two sets',
    { 'a.yaml': 'set: office\n', 'b.yaml': 'users: []\nset: home\n' },
    ['b.yaml:2: set: must be office, as in a.yaml:1'],
  ],
  [
    'keys without a value',
    { 'a.yaml': 'set: office\nintegrations:\n' },
    ['a.yaml:2: integrations: is missing or empty'],
  ],
  [
    'one user, address and integration in two files',
    {
      'a.yaml':
        'set: s\nusers: [{login: u, email: u@b.c}]\nintegrations:\n' +
        '  - {name: T, shortName: t, integrationType: API}\n',
      'b.json':
        '{"users": [{"login": "v", "email": "v@b.c"},\n{"login": "u", "email": "w@b.c"}],\n' +
        '"integrations": [{"name": "T", "shortName": "t", "integrationType": "API"}]}',
    },
    [
      'b.json:2: users.1.login: is the same as in a.yaml:2',
      'b.json:3: integrations.0.name: is the same as in a.yaml:4',
    ],
  ],
  [
    'one address in two files',
    {
      'a.yaml': 'set: s\nusers:\n  - login: u\n    email: u@b.c\n',
      'b.yaml': 'users:\n  - login: v\n    email: U@b.c\n',
    },
    ['b.yaml:3: users.0.email: is the same as in a.yaml:4'],
  ],
  [
    'a tab and a second document',
    {
      'a.yaml': 'set: s\nusers:\n  - login: u\n\temail: u@b.c\n  - { login: v, email: v@b.c }\n',
      'b.yaml': 'users: []\n---\nusers: []\n',
    },
    ['a.yaml:4: Tabs are not allowed as indentation', 'b.yaml:2: must not begin a second document'],
  ],
  [
    'too many users and parameters',
    {
      'a.json': JSON.stringify({
        set: 's',
        users: Array.from({ length: 2001 }, (_, index) => userNamed(`many-${index}`)),
        integrations: [
          tap(
            'T',
            Array.from({ length: 91 }, (_, index) => ({ ...host, confName: `many-${index}` })),
          ),
        ],
      }),
    },
    [
      'a.json:1: users: must have at most 2000 entries, all files together',
      'a.json:1: integrations.0.parameters: must have at most 90 entries',
    ],
  ],
])('rejects %s with their places', async (_, files, expected) => {
  const { folder } = folderOf(files);

  const { code, errors } = await planned([folder], { GATEHOUSE_URL: 'http://[::1]:1' });

  expect(code).toBe(1);
  expect(errors.map((line: string) => line.replaceAll(`${folder}/`, ''))).toEqual(expected);
});

it('takes the values of secrets from the environment, and shows only their versions', async () => {
  const { folder, write, at } = folderOf({
    'all.yaml': { set: 'secrets', integrations: [tap('Secret', [secret])] },
  });
  const apply = (environment: object) => planned(['apply', folder], environment);

  expect((await apply({ TAP_KEY: '' })).errors).toEqual([
    at(
      'all.yaml:8: integrations.0.parameters.0.secret: the environment variable TAP_KEY is not set',
    ),
  ]);
  expect((await apply({ TAP_KEY: '********' })).errors[0]).toContain(at('all.yaml:8: '));
  const made = await apply({ TAP_KEY: VALUE });
  expect(made.lines).toContain('    secretVersion: "TAP_KEY 1"');
  expect(await apply({ TAP_KEY: '' })).toMatchObject({ code: 0, errors: [''] });
  const next = { ...secret, secret: { name: 'TAP_KEY', version: 2 } };
  write('all.yaml', { set: 'secrets', integrations: [tap('Secret', [next])] });

  expect((await apply({ TAP_KEY: `${VALUE} too` })).lines).toEqual([
    '~ parameter "key" of integration "Secret"',
    '    secretVersion: "TAP_KEY 1" → "TAP_KEY 2"',
    'Plan: 0 to create, 1 to change, 0 to delete.',
  ]);
});

it('states refusals with their reasons, and applies nothing then', async () => {
  const files = { set: 'refused', users: [userNamed('system'), userNamed('refused')] };
  const { folder } = folderOf({ 'all.json': files });
  const token = GATEHOUSE_TOKEN;

  const [shown, applied, json] = [
    await planned([folder]),
    await planned(['apply', folder]),
    await planned(['--json', folder]),
  ];

  expect([shown.code, applied.code, json.code]).toEqual([1, 1, 1]);
  expect(shown.lines.at(-2)).toBe('    refused: The login is reserved (error.userexists)');
  expect(shown.lines.at(-1)).toBe('Plan: 1 to create, 0 to change, 0 to delete, 1 refused.');
  const { body } = await gatehouse.call('POST', '/api/plan', { token, body: files });
  expect(JSON.parse(json.lines.join('\n'))).toEqual(body);
  expect(applications).toEqual([]);
});

it('exports what exists, which then needs no change', async () => {
  const token = await gatehouse.adminToken();
  const { folder, at } = folderOf({});
  const { body: integration } = await gatehouse.call('POST', '/api/utm-integrations', {
    token,
    body: { name: 'Exported', shortName: 'tap', integrationType: 'API', active: false },
  });
  for (const fields of [host, { confName: 'kept', confValue: VALUE, secret: true }])
    await gatehouse.call('POST', '/api/utm-integration-confs', {
      token,
      body: { ...fields, integration: { id: integration.id } },
    });
  const source = folderOf({
    'all.yaml': {
      set: 'exported',
      users: [userNamed('exported')],
      integrations: [tap('Exported too', [secret])],
    },
  });
  await planned(['apply', source.folder], { TAP_KEY: VALUE });

  const { code, lines } = await planned(['export', 'exported', folder]);

  expect(code).toBe(0);
  expect(lines.at(-1)).toMatch(/^\d+ left out, which other sets manage$/);
  const written = readFileSync(at('integrations.yaml'), 'utf8');
  expect(written).toContain('secret: keep');
  expect(written).toContain('name: TAP_KEY');
  const shown = await planned(['--json', folder]);
  const { changes } = JSON.parse(shown.lines.join('\n'));
  expect(changes.length).toBeGreaterThan(0);
  const adoption = [{ field: 'managedBy', to: 'exported' }];
  expect(changes.filter((each: object) => !('changes' in each))).toEqual([]);
  for (const change of changes) expect(change).toMatchObject({ changes: adoption });
  expect((await planned(['apply', folder])).code).toBe(0);
  expect((await planned([folder])).code).toBe(0);
  expect((await planned(['export', 'exported', folder])).errors[0]).toContain('already exists');

  const schema = JSON.parse((await run('schema.ts', [], {})).lines.join('\n'));
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  expect(validate({ users: [userNamed('una')] })).toBe(true);
  expect(validate({ users: [{ ...userNamed('una'), age: 7 }] })).toBe(false);
});

it('applies the rest later, ends at a change since the plan, and places field errors', async () => {
  const { folder, at } = folderOf({
    'a.yaml': { set: 'office', users: [userNamed('una')] },
    'b.yaml': { users: [userNamed('vic')] },
  });
  const change = { action: 'user.created', name: 'una', changes: [] };
  const plan = { digest: 'a', changes: [change, change], unchanged: 0, refused: 0, secrets: [] };
  const rest = { ...plan, digest: 'b', changes: [change] };
  const invalid = { message: 'Email', field: 'users.1.email' };
  const responses: [number, object][] = [
    [200, plan],
    [200, { applied: 1, rest, retryAfter: 1 }],
    [200, { applied: 1, rest: null, retryAfter: null }],
    [200, plan],
    [412, { title: 'Changed', plan: rest }],
    [200, plan],
    [503, { title: 'Unavailable', applied: 1 }],
    [400, { title: 'Invalid', fieldErrors: [invalid] }],
    [403, { title: 'Forbidden', detail: 'Access is denied' }],
  ];
  const received: unknown[] = [];
  const server = createServer((request, response) => {
    received.push(request.headers['if-match']);
    const [status, body] = responses.shift() ?? [500, {}];
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  }).listen(0);
  onTestFinished(() => void server.close());
  const url = { GATEHOUSE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };

  const started = performance.now();
  expect(await planned(['apply', folder], url)).toMatchObject({
    code: 0,
    errors: ['1 of 2 changes are made', '2 of 2 changes are made'],
  });
  expect(performance.now() - started).toBeGreaterThan(1000);
  const changed = await planned(['apply', folder], url);
  expect(changed).toMatchObject({
    code: 1,
    errors: ['Something has changed since the plan. The plan is now:'],
  });
  expect(changed.lines.at(-1)).toBe('Plan: 1 to create, 0 to change, 0 to delete.');
  expect(await planned(['apply', folder], url)).toMatchObject({
    code: 1,
    errors: ['1 of 2 changes are made', `${url.GATEHOUSE_URL}: Unavailable`],
  });
  expect((await planned([folder], url)).errors).toEqual([
    at('b.yaml:3: users.0.email: must be an e-mail address'),
  ]);
  expect((await planned([folder], url)).errors).toEqual([
    `${url.GATEHOUSE_URL}: Forbidden: Access is denied`,
  ]);
  const later = [undefined, '"a"', undefined, '"a"', undefined, undefined];
  expect(received).toEqual([undefined, '"a"', '"b"', ...later]);
});

it.each([
  [['apply'], /^Usage: /],
  [['destroy', '.'], /^Usage: /],
  [['--nope', '.'], /'--nope'.*\nUsage: /],
  [['--prune', 'user', 'examples/plan'], /names the set|--prune:1: prune.0: must be one of users/],
])('ends with 1 for the arguments %j', async (args, expected) => {
  const { code, errors } = await planned(args);

  expect(code).toBe(1);
  expect(errors.join('\n')).toMatch(expected);
});
