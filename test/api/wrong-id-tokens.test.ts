import {
  constants,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { mapConcurrently } from '../../lib/runtime/waiting.ts';
import { commit } from '../../lib/table/change.ts';
import { set } from '../../lib/table/write.ts';
import { untilEarlyInWindow } from '../support/doubles/time.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsBesidesCounts, itemsOf } from '../support/instance/items.ts';
import {
  idToken,
  jwt,
  logInForm,
  newCodeVerifier,
  nonceOf,
  testProvider,
} from '../support/instance/provider.ts';

/*
 * Tokens that an identity provider would not have issued for the request, each for a person who has
 * an account and for one who has none: neither gets a token, or learns which of the two they are.
 */

const calls: string[] = [];
const gatehouse = await useGatehouse({
  intercept(call, forward) {
    if (call.functionName === 'POST /api/oauth2/token') calls.push(call.operation);
    return forward();
  },
});
const provider = testProvider();
const { issuer, clientId } = provider.issuer;
const { kid } = provider.key;
const VERIFIER = newCodeVerifier();

type Part = Readonly<Record<string, unknown>>;
/** What is sent in place of the form of a log-in: another assertion, or other fields. */
type Wrong = string | Part | [string, string][];
/** By the claims of a token that is right. */
type Make = (right: Part) => Wrong;

const seconds = () => Math.floor(Date.now() / 1000);
const claimsOf = (sub: string): Part => ({
  iss: issuer,
  aud: clientId,
  sub,
  nonce: nonceOf(VERIFIER),
  preferred_username: sub,
  groups: ['users'],
  iat: seconds(),
  exp: seconds() + 3600,
  jti: randomBytes(9).toString('base64url'),
});
const withClaims =
  (claims: Part | (() => Part), header: Part = {}): Make =>
  (right) =>
    idToken(provider, { ...right, ...(typeof claims === 'function' ? claims() : claims) }, header);
/** A verifier that the nonce of the token belongs to. */
const withVerifier =
  (verifier: string): Make =>
  (right) => ({
    assertion: idToken(provider, { ...right, nonce: nonceOf(verifier) }),
    code_verifier: verifier,
  });

const own = createPrivateKey({ key: provider.key, format: 'jwk' });
const published = createPublicKey(own);
const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 });
const rsa =
  (key: KeyObject, digest = 'sha256', isPss = false) =>
  (input: Buffer) =>
    sign(digest, input, {
      key,
      ...(isPss && {
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      }),
    });
const signedBy =
  (header: Part | string, signer: (input: Buffer) => Uint8Array): Make =>
  (right) =>
    jwt(header, right, signer);
const signed = (payload: string, header: Part = {}) =>
  jwt({ alg: 'RS256', kid, ...header }, payload, rsa(own));
/** A token whose payload is this JSON, which replaces the end of a right one. */
const ending =
  (end: string): Make =>
  (right) =>
    signed(`${JSON.stringify(right).slice(0, -1)},${end}}`);
const payload =
  (text: string): Make =>
  () =>
    signed(text);
/** The three parts of a right token, changed. */
const altered =
  (change: (header: string, payload: string, signature: string) => string): Make =>
  (right) =>
    change(...(idToken(provider, right).split('.') as [string, string, string]));
const exchanged = (text: string, at: number) =>
  `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;

/** One case for each value, named after it. */
const each = (name: string, values: readonly unknown[], make: (value: never) => Make) =>
  values.map((value): [string, Make] => [
    `${name} ${JSON.stringify(value)?.slice(0, 60)}`,
    make(value as never),
  ]);
const claim = (name: string, ...values: unknown[]) =>
  each(name, values, (value) => withClaims({ [name]: value }));
const timed = (name: string, ...offsets: number[]) =>
  each(`${name} at`, offsets, (offset) => withClaims(() => ({ [name]: seconds() + offset })));
const header = (name: string, ...values: unknown[]) =>
  each(`header ${name}`, values, (value) => withClaims({}, { [name]: value }));

const SECRETS = [
  published.export({ format: 'pem', type: 'spki' }),
  published.export({ format: 'pem', type: 'pkcs1' }),
  published.export({ format: 'der', type: 'spki' }),
  Buffer.from(provider.key.n as string, 'base64url'),
  provider.key.n as string,
  JSON.stringify(published.export({ format: 'jwk' })),
  kid,
  '',
];
const ALGORITHMS: [string, Make][] = [
  ...['none', 'None', 'NONE', 'nOnE', ''].flatMap((alg): [string, Make][] => [
    [`algorithm '${alg}' without a signature`, signedBy({ alg, kid }, () => Buffer.alloc(0))],
    [`algorithm '${alg}' with any signature`, signedBy({ alg, kid }, () => Buffer.from('any'))],
    [`algorithm '${alg}' with the right signature`, signedBy({ alg, kid }, rsa(own))],
  ]),
  ...[256, 384, 512].flatMap((size) =>
    SECRETS.map((secret, index): [string, Make] => [
      `HS${size} with what is public, form ${index}`,
      signedBy({ alg: `HS${size}`, kid }, (input) =>
        createHmac(`sha${size}`, secret).update(input).digest(),
      ),
    ]),
  ),
  ...['RS384', 'RS512', 'PS256', 'PS384', 'PS512'].flatMap((alg): [string, Make][] => {
    const signer = rsa(own, `sha${alg.slice(2)}`, alg.startsWith('PS'));
    return [
      [alg, signedBy({ alg, kid }, signer)],
      [`${alg} as RS256`, signedBy({ alg: 'RS256', kid }, signer)],
    ];
  }),
  ...Object.entries({ ES256: 'prime256v1', ES384: 'secp384r1', ES512: 'secp521r1' }).map(
    ([alg, namedCurve]): [string, Make] => {
      const key = generateKeyPairSync('ec', { namedCurve }).privateKey;
      const signer = (input: Buffer) =>
        sign(`sha${alg.slice(2)}`, input, { key, dsaEncoding: 'ieee-p1363' });
      return [alg, signedBy({ alg, kid }, signer)];
    },
  ),
  [
    'EdDSA',
    signedBy({ alg: 'EdDSA', kid }, (input) =>
      sign(null, input, generateKeyPairSync('ed25519').privateKey),
    ),
  ],
  ...header('alg', undefined, null, 256, ['RS256'], 'rs256', 'RS256 ', {}, 'RSA', 'A256KW'),
];

const { n, e } = foreign.publicKey.export({ format: 'jwk' });
const FOREIGN_JWK = { kty: 'RSA', n, e, use: 'sig' };
const EMBEDDED: Part[] = [
  { jwk: FOREIGN_JWK },
  { jku: `${issuer}/keys` },
  { jku: 'https://attacker.example/keys' },
  { x5c: [foreign.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')] },
  { x5u: 'https://attacker.example/chain.pem' },
  {},
];
const KEYS: [string, Make][] = [
  ...EMBEDDED.flatMap((embedded) =>
    [kid, 'own', undefined].map((kid): [string, Make] => [
      `another key, with kid ${kid} and ${JSON.stringify(embedded).slice(0, 20)}`,
      signedBy({ alg: 'RS256', ...embedded, kid }, rsa(foreign.privateKey)),
    ]),
  ),
  ...header('kid', undefined, null, '', 1, [kid], 'other', kid.toUpperCase(), ` ${kid}`),
  ...header('kid', '__proto__', 'constructor', '../../dev/null', `${kid}\u0000`, {}),
];

const HEADERS: [string, Make][] = [
  ...header('crit', ['exp'], [], ['b64'], null, 'exp', ['typ', 'kid'], false),
  ...each('header b64', [true, false], (b64) => withClaims({}, { b64, crit: ['b64'] })),
  ...header('typ', 'at+jwt', 'application/at+jwt', 'logout+jwt', 'secevent+jwt', 'dpop+jwt'),
  ...header(
    'typ',
    'module+jwt',
    'oauth-authz-req+jwt',
    'JWE',
    '',
    null,
    1,
    ['JWT'],
    'JWT ',
    'xJWT',
  ),
];

const CLAIMS: [string, Make][] = [
  ...claim('iss', `${issuer}/`, issuer.toUpperCase(), `${issuer}2`, issuer.slice(0, -1)),
  ...claim('iss', ` ${issuer}`, [issuer], undefined, null, 1, '', {}, 'https://login.example.com'),
  ...claim('iss', `${issuer}?a`, `${issuer}#a`, 'gatehouse-dev', issuer.replace('http', 'https')),
  ...claim('iss', `${issuer}/.`, new URL(issuer).origin, `${issuer}%2f`, `${issuer}\u0000`),
  ...claim('aud', 'other', '', [], ['other'], [clientId, 'other'], ['other', clientId], undefined),
  ...claim('aud', null, 1, [[clientId]], clientId.toUpperCase(), `${clientId} `, {}, issuer),
  ...claim('aud', [clientId, ''], 'gatehouse-modules', { 0: clientId }, true, [null]),
  ...claim('azp', 'other', '', null, [clientId], clientId.toUpperCase(), 1, {}, false),
  ...claim('nonce', undefined, null, '', VERIFIER, [nonceOf(VERIFIER)], `${nonceOf(VERIFIER)}=`, 0),
  ...claim('nonce', nonceOf(VERIFIER).toUpperCase(), nonceOf(nonceOf(VERIFIER)), nonceOf(''), true),
  ...claim('exp', undefined, null, '9999999999', 0, -1, {}, true, [9_999_999_999]),
  ...timed('exp', -62, -3600),
  ...claim('iat', undefined, null, `${seconds()}`, 0, -1, Date.now(), {}, true, [1]),
  ...timed('iat', 70, 3600, -362, -3600),
  ...claim('nbf', null, '0', {}, true, Date.now()),
  ...timed('nbf', 70, 3600),
  ...claim('sub', undefined, '', null, 1, [], ['x'], {}, true, 'x'.repeat(256), 'x'.repeat(1000)),
  ...claim('sub', 'ü', '😀', 'a\n', 'a\tb', '\u0000', '\x7f', '\u00a0', 'x\u2028'),
  ['groups elsewhere', withClaims({ groups: undefined, _claim_names: { groups: 'src1' } })],
  ['too many groups', withClaims({ groups: undefined, hasgroups: true })],
  ...each('later', ['"aud":"other"', '"nonce":"x"', '"exp":1', '"iat":1', '"sub":""'], ending),
  ...each('later', ['"\\u0061ud":"other"', '"azp":"other"', '"iss":"x"', '"exp":1e999'], ending),
  ...each('later', ['"iat":-1e999', '"nbf":1e999', '"nonce":null'], ending),
];

const FORMS: [string, Make][] = [
  ...each('signature altered at', [0, 1, 100, 340], (at: number) =>
    altered((one, two, three) => `${one}.${two}.${exchanged(three, at)}`),
  ),
  ...each('payload altered at', [4, 40, 100], (at: number) =>
    altered((one, two, three) => `${one}.${exchanged(two, at)}.${three}`),
  ),
  [
    'another subject under the signature',
    (right) => {
      const [one, , three] = idToken(provider, right).split('.');
      return `${one}.${idToken(provider, { ...right, sub: 'other' }).split('.')[1]}.${three}`;
    },
  ],
  ['header altered', altered((one, two, three) => `${exchanged(one, 12)}.${two}.${three}`)],
  ['no signature', altered((one, two) => `${one}.${two}`)],
  ['an empty signature', altered((one, two) => `${one}.${two}.`)],
  ['a signature cut short', altered((one, two, three) => `${one}.${two}.${three.slice(0, -4)}`)],
  ['a signature twice', altered((one, two, three) => `${one}.${two}.${three}${three}`)],
  ['padding', altered((one, two, three) => `${one}=.${two}.${three}`)],
  ['a fourth part', altered((...parts) => `${parts.join('.')}.x`)],
  ['a space before', altered((...parts) => ` ${parts.join('.')}`)],
  ['a line break after', altered((...parts) => `${parts.join('.')}\n`)],
  [
    'a JWS in JSON',
    altered((one, two, three) =>
      JSON.stringify({ protected: one, payload: two, signature: three }),
    ),
  ],
  ['a JWE', altered((one, two, three) => `${one}.${two}.${two}.${two}.${three}`)],
  ['a nested JWT', (right) => signed(idToken(provider, right), { cty: 'JWT' })],
  [
    'a nested JWT as text',
    (right) => signed(JSON.stringify(idToken(provider, right)), { cty: 'JWT' }),
  ],
  ...each(
    'assertion',
    ['', '.', '..', 'x', 'x.y.z', '!!!.???.***', 'e30.e30.e30', 'null'],
    (text) => () => text,
  ),
  ...each('payload', ['', 'null', '[]', '"text"', '1', '{', '{}', '{"sub":"x"}'], payload),
  ['a payload with a byte order mark', (right) => signed(`\ufeff${JSON.stringify(right)}`)],
  ['a header that is repeated', signedBy(`{"alg":"RS256","alg":"none","kid":"${kid}"}`, rsa(own))],
  ['a header that is an array', signedBy('["RS256"]', rsa(own))],
  ['a header that is no JSON', signedBy('{alg:RS256}', rsa(own))],
  ['claims of a prototype', (right) => signed(`{"__proto__":${JSON.stringify(right)}}`)],
  ...each('a token that is too long by', [100, 20_000], (length: number) =>
    withClaims({ padding: 'x'.repeat(11_800 + length) }),
  ),
  ['a body that is too long', withClaims({ padding: 'x'.repeat(60_000) })],
];

const VERIFIERS: [string, Make][] = [
  ['the verifier of another log-in', () => ({ code_verifier: newCodeVerifier() })],
  ['the nonce as the verifier', () => ({ code_verifier: nonceOf(VERIFIER) })],
  ['no verifier', () => ({ code_verifier: '' })],
  ['no verifier, but its nonce', withVerifier('')],
  ...each(
    'the verifier',
    ['x'.repeat(42), 'x'.repeat(129), `${'x'.repeat(43)}+`, `${'x'.repeat(43)}/`, 'x'],
    withVerifier,
  ),
  ...each(
    'the verifier',
    [`${'x'.repeat(43)} `, `${'x'.repeat(43)}\n`, 'ü'.repeat(43), `${'x'.repeat(43)}=`],
    withVerifier,
  ),
  ...['assertion', 'code_verifier', 'grant_type'].map((field): [string, Make] => [
    `${field} twice`,
    (right) => {
      const form = { ...logInForm(provider, right) };
      return [...Object.entries(form), [field, form[field as keyof typeof form]]];
    },
  ]),
];

const CASES = [...ALGORITHMS, ...KEYS, ...HEADERS, ...CLAIMS, ...FORMS, ...VERIFIERS];

/** Sends what was made to the token endpoint. */
function send(wrong: Wrong) {
  const fields = typeof wrong === 'string' ? { assertion: wrong } : wrong;
  const body = Array.isArray(fields)
    ? fields
    : {
        ...logInForm(provider, {}),
        assertion: idToken(provider, claimsOf('known')),
        code_verifier: VERIFIER,
        ...fields,
      };
  return gatehouse.call('POST', '/api/oauth2/token', { body });
}

beforeAll(async () => {
  const { status } = await send(idToken(provider, claimsOf('known')));
  expect(status).toBe(200);
});

it('grants nothing for any of them, and says the same to everybody', async () => {
  const before = await itemsBesidesCounts(gatehouse.cloud);

  const unexpected = await mapConcurrently(CASES, 8, async ([name, make]) => {
    const outcomes = await Promise.all(
      ['known', 'unknown'].map(async (sub) => {
        const { status, body } = await send(make(claimsOf(sub)));
        return `${status} ${body.error} ${body.message}: ${body.error_description}`;
      }),
    );
    const isRefused = outcomes.every((outcome) =>
      /^400 invalid_(grant error.invalidgrant: The token of|request error.http.400: )/.test(
        outcome,
      ),
    );
    return isRefused && new Set(outcomes).size === 1 ? [] : [[name, ...outcomes]];
  });

  expect(unexpected.flat()).toEqual([]);
  expect(await itemsBesidesCounts(gatehouse.cloud)).toEqual(before);
});

it.each<[string, Make]>([
  ['malformed', () => 'x'],
  ['malformed', ending('"nbf":1e999')],
  ['issuer', withClaims({ iss: `${issuer}/` })],
  ['unknown-key', withClaims({}, { kid: 'other' })],
  ['signature', signedBy({ alg: 'RS256', kid }, rsa(foreign.privateKey))],
  ['algorithm', signedBy({ alg: 'RS512', kid }, rsa(own, 'sha512'))],
  ['algorithm', signedBy({ alg: 'HS256', kid }, () => Buffer.from('any'))],
  ['type', withClaims({}, { typ: 'at+jwt' })],
  ['type', withClaims({}, { crit: [] })],
  ['audience', withClaims({ aud: 'other' })],
  ['audience', withClaims({ azp: 'other' })],
  ['age', withClaims({ exp: 1 })],
  ['age', withClaims({ iat: 1 })],
  ['age', withClaims({ nbf: seconds() + 3600 })],
  ['nonce', withClaims({ nonce: '' })],
  ['groups', withClaims({ groups: undefined, hasgroups: true })],
])('logs what is wrong, which the response hides: %s', async (reason, make) => {
  const line = await gatehouse.lineOf(await send(make(claimsOf('known'))));

  expect(line).toMatchObject({ failure: 'invalid-grant', reason });
});

it.each<[string, Make]>([
  ...timed('exp', -50),
  ...timed('iat', 50, -350),
  ...timed('nbf', 50),
  ...claim('aud', [clientId]),
  ...claim('azp', clientId),
  ...claim('sub', 'x'.repeat(255), ' '),
  ...header('typ', undefined, 'jwt'),
  ...EMBEDDED.map((embedded): [string, Make] => ['a header', withClaims({}, embedded)]),
  ...each('later', ['"aud":"gatehouse"'], ending),
  ...each('the verifier', ['x'.repeat(43), '~'.repeat(128)], withVerifier),
  ['a token of 16,000 characters', withClaims({ padding: 'x'.repeat(11_400) })],
])('admits a person whose token is just right: %s', async (_, make) => {
  const login = `right-${randomBytes(4).toString('hex')}`;

  const { status, text } = await send(make({ ...claimsOf(login) }));

  expect([status, text]).toEqual([200, expect.stringContaining('access_token')]);
});

it('grants one session for a token that is sent ten times at once, and none later', async () => {
  const assertion = idToken(provider, claimsOf('known'));

  const received = await Promise.all(Array.from({ length: 10 }, () => send(assertion)));

  calls.length = 0;
  // The last character has four bits that no signature consists of.
  const varied = assertion.replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1));
  const again = await send(varied);
  expect(received.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(400)]);
  expect(again).toMatchObject({ status: 400, body: { message: 'error.invalidgrant' } });
  // Repeated, it is counted against its source, and must not keep the items of the user busy.
  expect(calls).toEqual(['BatchGetItem', 'UpdateItem']);
  expect((await gatehouse.lineOf(again)).reason).toBe('used');
  const kept = [...(await itemsOf(gatehouse.cloud))].flatMap(([name, { expires }]) =>
    /^ASSERTION#[0-9a-f]{64} USED$/.test(name) ? [Number(expires) - seconds()] : [],
  );
  // A token that was issued a minute ahead is accepted for seven minutes.
  expect(Math.round(Math.max(...kept) / 60)).toBe(7);
});

it('refuses wrong tokens from a source that sends many, but no right one', async () => {
  const { cloud, table } = gatehouse;
  const sendTo = (aud: string) => send(idToken(provider, { ...claimsOf('known'), aud }));
  await untilEarlyInWindow();
  const first = await sendTo('other');
  const items = [...(await itemsOf(cloud)).values()].filter(({ sk }) => /^MODULES#/.test(sk));
  const setCounts = (n: number) =>
    commit(
      table,
      items.map(({ pk, sk }) => set({ pk, sk }, { n })),
    );

  await setCounts(100_000);
  const received = [first, await sendTo('other'), await sendTo(clientId)];
  await setCounts(0);

  expect(received.map(({ status }) => status)).toEqual([400, 429, 200]);
});
