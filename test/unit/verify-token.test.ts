import { createHmac, createPublicKey, sign } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { moduleToken } from '../../lib/modules/module-caller.ts';
import { finishColdStart } from '../../lib/runtime/execution-environment.ts';
import type { Table } from '../../lib/table/table.ts';
import { openVerifier, type Verifier } from '../../lib/tokens/verify-token.ts';
import type { Caller } from '../../lib/users/caller.ts';
import {
  decode,
  encode,
  makeSigningKeyPair,
  type Part,
  type SigningKeyPair,
} from '../support/instance/mint.ts';
import {
  NOW,
  REJECTED,
  signedBy,
  tableOf,
  useVerifierEnvironment,
  verifierOn,
} from '../support/instance/tokens.ts';

useVerifierEnvironment();
const key = makeSigningKeyPair('one');
const verify = (authorization: string) => verifierOn(tableOf(key)).verify(authorization);

describe('a token with a valid signature', () => {
  it.each<[string, Part]>([
    ['with an iat one minute ahead', { iat: NOW + 60 }],
    ['with the longest lifetime', { exp: NOW + 86_400 }],
    ['in its last second', { iat: NOW - 3600, exp: NOW }],
    ['whose nbf has been reached', { nbf: NOW }],
    ['with the largest user id', { sub: String(Number.MAX_SAFE_INTEGER) }],
  ])('is accepted %s', async (_, claims) => {
    expect((await verify(signedBy(key, claims))).jti).toBe('id');
  });

  const invalid: Record<string, unknown[]> = {
    exp: [undefined, String(NOW + 3600), NOW + 0.5, NOW + 86_401, NOW - 1],
    iat: [undefined, String(NOW), NOW - 0.5, NOW + 61],
    nbf: [NOW + 1],
    iss: [undefined, 'there'],
    aud: [undefined, 'elsewhere', ['gatehouse', 'elsewhere'], ['gatehouse']],
    sub: [undefined, '', '0', '07', '-1', '1.5', '1e3', ' 7', '7\n', 'admin', '1'.repeat(17), 7],
    jti: [undefined, 7],
    preferred_username: [7, null, ['ada']],
  };
  const rejected = Object.entries(invalid).flatMap(([name, values]) =>
    values.map((value) => [name, value] as const),
  );
  it.each(rejected)('is rejected with the %s %j', async (name, value) => {
    await expect(verify(signedBy(key, { [name]: value }))).rejects.toEqual(REJECTED);
  });

  it.each<Part>([
    { typ: 'JWT' },
    { typ: undefined },
    { crit: ['b64'], b64: false },
    ...[undefined, 'ES384', 'ES512', 'ES256K', 'RS256', 'PS256', 'EdDSA', 'HS256', 'HS512'].map(
      (alg) => ({ alg }),
    ),
    ...['none', 'es256', '', 7, ['ES256']].map((alg) => ({ alg })),
  ])('is rejected with the header parameters %o', async (header) => {
    await expect(verify(signedBy(key, {}, header))).rejects.toEqual(REJECTED);
  });

  it('is rejected if it is older than what a restored table accepts', async () => {
    const table = tableOf(key);
    const notBefore = { pk: 'JWKS', sk: 'NOT-BEFORE', seconds: NOW - 10 };
    const items = [notBefore, ...(await table.query())];
    const verifier = openVerifier({ query: async () => items } as unknown as Table);

    expect(await verifier.verify(signedBy(key, { iat: NOW - 10 }))).toMatchObject({ id: 7 });
    await expect(verifier.verify(signedBy(key, { iat: NOW - 11 }))).rejects.toEqual(REJECTED);
  });

  it('is rejected with RS256 by a key that states no alg', async () => {
    const { alg: _, ...jwk } = key.jwk;
    const verifier = verifierOn(tableOf({ ...key, jwk }));

    const confused = signedBy(key, {}, { alg: 'RS256' });
    await expect(verifier.verify(confused)).rejects.toEqual(REJECTED);
    expect((await verifier.verify(signedBy(key))).id).toBe(7);
  });

  it('is rejected with a signature of any length other than 64 bytes', async () => {
    const verifier = verifierOn(tableOf(key));
    const [, input = '', signature = ''] = /^(.+)\.(.+)$/.exec(signedBy(key)) ?? [];
    const bytes = Buffer.concat([Buffer.from(signature, 'base64url'), Buffer.alloc(100, 1)]);

    for (let length = 0; length <= 130; length++) {
      const verification = verifier.verify(
        `${input}.${bytes.subarray(0, length).toString('base64url')}`,
      );

      if (length === 64) await expect(verification).resolves.toMatchObject({ id: 7 });
      else await expect(verification, `${length} bytes`).rejects.toEqual(REJECTED);
    }
  });

  it.each(['\n', '==', ','])('is rejected with %j at its end', async (more) => {
    await expect(verify(signedBy(key) + more)).rejects.toEqual(REJECTED);
  });
});

describe('a forged token', () => {
  const stranger = makeSigningKeyPair('one');
  const valid = () => signedBy(key).replace('Bearer ', '').split('.') as [string, string, string];
  const spki = createPublicKey({ key: key.jwk, format: 'jwk' });

  /**
   * A token whose HMAC uses the public key as the secret: an algorithm confusion attack (RFC 8725,
   * section 2.1).
   */
  function hmac(secret: string | Buffer): string {
    const input = `${encode({ alg: 'HS256', typ: 'at+jwt', kid: 'one' })}.${valid()[1]}`;
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
  }

  /** A token with these header parameters, signed with a key that the service does not know. */
  const foreign = (header: Part) => signedBy(stranger, {}, header).replace('Bearer ', '');

  it.each<[string, () => string]>([
    ...(['pem', 'der'] as const).map((format): [string, () => string] => [
      `an HMAC under the public key as ${format}`,
      () => hmac(spki.export({ type: 'spki', format } as never)),
    ]),
    [
      'another header',
      () =>
        valid()
          .with(0, encode({ ...decode(valid()[0]), cty: 'JWT' }))
          .join('.'),
    ],
    [
      'other claims',
      () =>
        valid()
          .with(1, encode({ ...decode(valid()[1]), sub: '8' }))
          .join('.'),
    ],
    ['no signature', () => valid().slice(0, 2).join('.')],
    ['a header that is null', () => valid().with(0, encode(null)).join('.')],
    ['a header that is not JSON', () => valid().with(0, 'AAAA').join('.')],
    ['a signature of zeros', () => valid().with(2, 'A'.repeat(86)).join('.')],
    [
      'a signature in DER',
      () => {
        const input = valid().slice(0, 2).join('.');
        const der = sign('sha256', Buffer.from(input), key.privateKey);
        return `${input}.${der.toString('base64url')}`;
      },
    ],
    ['a signature by another key', () => foreign({})],
    ['its own verification key in the header', () => foreign({ jwk: stranger.jwk })],
    ['an unknown key', () => foreign({ kid: 'stranger' })],
    ['a key id that is an object property', () => foreign({ kid: '__proto__' })],
    ['no key id', () => foreign({ kid: undefined })],
  ])('is rejected that has %s', async (_, tokenOf) => {
    await expect(verify(`Bearer ${tokenOf()}`)).rejects.toEqual(REJECTED);
  });
});

describe('a key of one kind of tokens', () => {
  const [people, modules] = [makeSigningKeyPair(), makeSigningKeyPair()];
  const clientId = 'module-17-a1b2c3d4e5f6';
  const readKeys = async () => [modules.jwk as never];
  const ofPerson = (key: SigningKeyPair, header = {}) => signedBy(key, {}, header);
  const ofModule = (key: SigningKeyPair, header = {}, changed: Part = {}) => {
    const claims = { aud: 'gatehouse-modules', sub: clientId, client_id: clientId };
    const life = { integration: 17, exp: Date.now() / 1000 + 900 };
    return signedBy(key, { ...claims, ...life, ...changed }, { typ: 'module+jwt', ...header });
  };
  const verifier = () =>
    openVerifier(tableOf(people) as unknown as Table, { ...moduleToken(), readKeys });

  it('verifies a token of a module', async () => {
    expect(await verifier().verify(ofModule(modules))).toEqual({ clientId, integrationId: 17 });
  });

  it.each<Part>([
    { sub: undefined },
    { client_id: undefined },
    { client_id: 'module-17-000000000000' },
    { integration: undefined },
    { integration: 18 },
    { sub: 'module', client_id: 'module', integration: undefined },
    { exp: NOW + 901 },
  ])('never verifies a token of a module with %j', async (changed) => {
    await expect(verifier().verify(ofModule(modules, {}, changed))).rejects.toEqual(REJECTED);
  });

  it.each([
    ['a token of a person under the key of modules', () => ofPerson(modules)],
    ['the same under the id of the other key', () => ofPerson(modules, { kid: people.jwk.kid })],
    ['the same with the type of a module', () => ofPerson(modules, { typ: 'module+jwt' })],
    ['a token of a module under the key of people', () => ofModule(people)],
    ['the same with the type of a person', () => ofModule(people, { typ: 'at+jwt' })],
    ['a token of an unknown type', () => ofPerson(people, { typ: 'JWT' })],
  ])('never verifies %s', async (_, authorization) => {
    await expect(verifier().verify(authorization())).rejects.toEqual(REJECTED);
  });
});

describe('verify', () => {
  it('accepts the first token after a restore, also after one of an unknown key', async () => {
    const table = tableOf();
    const verifier = verifierOn(table);
    await expect(verifier.verify(signedBy(makeSigningKeyPair('lost')))).rejects.toEqual(REJECTED);
    table.keys.push(key);

    expect((await verifier.verify(signedBy(key))).id).toBe(7);
  });

  it('reads no keys for a malformed header', async () => {
    const table = tableOf(key);

    await expect(verifierOn(table).verify('Bearer a.b.c')).rejects.toEqual(REJECTED);

    // The read of the cold start.
    expect(table.reads).toBe(1);
  });

  it('completes its first read in the cold start', async () => {
    const table = tableOf(key);
    const { query } = table;
    const completed: string[] = [];
    table.query = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      completed.push('read');
      return query();
    };
    verifierOn(table);

    await finishColdStart();

    expect(completed).toEqual(['read']);
  });

  it('accepts a header of up to 2,048 characters', async () => {
    const verifier = verifierOn(tableOf(key));
    /** Base64 skips some lengths, so two parts of the token are padded. */
    const ofLength = (length: number) => {
      for (let more = 1000; ; more++) {
        for (const pad of ['', 'x', 'xx', 'xxx']) {
          const header = signedBy(key, { more: 'x'.repeat(more) }, { pad });
          if (header.length === length) return header;
        }
      }
    };

    expect((await verifier.verify(ofLength(2048))).id).toBe(7);
    await expect(verifier.verify(ofLength(2049))).rejects.toEqual(REJECTED);
  });
});

describe('the cache of verified tokens', () => {
  const other = makeSigningKeyPair('two');
  const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
  const callersOf = async (verifier: Verifier, tokens: readonly string[]) => {
    const callers: Caller[] = [];
    for (const token of tokens) callers.push(await verifier.verify(token));
    return callers;
  };

  it('does not outlive the token, whose expiry is checked on each use', async () => {
    const verifier = verifierOn(tableOf(key));
    const token = signedBy(key, { iat: NOW, exp: NOW + 20 });
    const caller = await verifier.verify(token);
    pass(19.999);
    expect(await verifier.verify(token)).toBe(caller);
    pass(1.001);

    await expect(verifier.verify(token)).rejects.toEqual(REJECTED);
    await expect(verifier.verify(token)).rejects.toEqual(REJECTED);
  });

  it('is empty once the key set has been read again for an unknown key id', async () => {
    const table = tableOf(key, other);
    const verifier = verifierOn(table);
    const withdrawn = signedBy(other);
    await verifier.verify(withdrawn);
    table.keys.pop();

    await expect(verifier.verify(signedBy(makeSigningKeyPair('stranger')))).rejects.toEqual(
      REJECTED,
    );

    await expect(verifier.verify(withdrawn)).rejects.toEqual(REJECTED);
  });

  it('holds 100 tokens and displaces the oldest', async () => {
    const verifier = verifierOn(tableOf(key));
    const tokens = Array.from({ length: 101 }, () => signedBy(key));
    const callers = await callersOf(verifier, tokens);

    const again = await callersOf(verifier, tokens.toReversed());

    expect(again.toReversed().map((caller, n) => caller === callers[n])).toEqual(
      tokens.map((_, n) => n > 0),
    );
  });

  it('never contains a rejected token, which displaces no other one', async () => {
    const verifier = verifierOn(tableOf(key));
    const signature = Buffer.alloc(64, 1).toString('base64url');
    const forged = signedBy(key).replace(/\.[^.]+$/, `.${signature}`);
    const tokens = Array.from({ length: 100 }, () => signedBy(key));
    const [caller] = await callersOf(verifier, tokens);

    for (let uses = 0; uses < 3; uses++)
      await expect(verifier.verify(forged)).rejects.toEqual(REJECTED);

    expect(await verifier.verify(tokens[0] as string)).toBe(caller);
  });
});
