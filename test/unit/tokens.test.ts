import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { finishColdStart } from '../../lib/runtime/cold-start.ts';
import { setDeadline } from '../../lib/runtime/deadline.ts';
import { sharedKms } from '../../lib/runtime/kms.ts';
import { openModuleKeys, openModuleSigner, openSigner } from '../../lib/tokens/signing-keys.ts';
import { thumbprint } from '../../lib/tokens/thumbprint.ts';
import type { Verifier } from '../../lib/tokens/verify-token.ts';
import type { Caller } from '../../lib/users/caller.ts';
import { awsError } from '../support/doubles/aws-errors.ts';
import { freezeClock } from '../support/doubles/frozen-clock.ts';
import { recordingTable } from '../support/doubles/recording-table.ts';
import { useLogLines } from '../support/instance/log-lines.ts';
import { makeSigningKeyPair } from '../support/instance/mint.ts';
import {
  NOW,
  REJECTED,
  signedBy,
  tableOf,
  useVerifierEnvironment,
  verifierOn,
} from '../support/instance/tokens.ts';

describe('verify', () => {
  useVerifierEnvironment();
  const key = makeSigningKeyPair('one');

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
  useVerifierEnvironment();
  const [key, other] = [makeSigningKeyPair('one'), makeSigningKeyPair('two')];
  const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
  /** Verifies tokens, and returns their callers. */
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

it('thumbprint follows RFC 7638', () => {
  // The example of RFC 7638 is an RSA key; this value was computed with another implementation.
  const x = 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU';
  const y = 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0';

  expect(thumbprint({ x, y })).toBe('oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U');
});

describe('openSigner', () => {
  const lines = useLogLines();

  function keyInKms() {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const spki = publicKey.export({ type: 'spki', format: 'der' });
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const kid = thumbprint({ x, y });
    const jwk = { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' };
    return { jwk, publicKey, privateKey, response: { PublicKey: spki } };
  }
  const [one, other] = [keyInKms(), keyInKms()];
  const outage = awsError('KMSInternalException');

  /** Makes KMS return these responses in turn, and records its calls. */
  function stubKms(...responses: (object | Error)[]) {
    const calls: { operation: string; input: Record<string, unknown>; signal: unknown }[] = [];
    vi.spyOn(sharedKms(), 'send').mockImplementation(async (command: object, options: unknown) => {
      const { input } = command as { input: Record<string, unknown> };
      const { abortSignal: signal } = options as { abortSignal?: AbortSignal };
      calls.push({ operation: command.constructor.name, input, signal });
      const response = responses.shift();
      if (response instanceof Error || !response) throw response;
      return response;
    });
    return { calls };
  }

  const claimOf = ({ jwk }: typeof one) => ({
    act: 'Put',
    key: { pk: 'JWKS', sk: jwk.kid },
    attributes: { jwk },
    condition: 'attribute_not_exists(pk)',
    onConditionFailed: 'retry',
  });
  const asn1 = (input: string, key: KeyObject) => sign('sha256', Buffer.from(input), key);

  it('publishes its key once, before it signs with it', async () => {
    const { calls } = stubKms(one.response, { Signature: asn1('input', one.privateKey) });
    const table = recordingTable();
    const signer = openSigner(table, ['first']);

    const { kid, sign: signIt } = await signer();
    await signer();
    const published = [...table.transactions];
    const signature = await signIt('input');

    expect([kid, published]).toEqual([one.jwk.kid, [[claimOf(one)]]]);
    const verifier = { key: one.publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(verify('sha256', Buffer.from('input'), verifier, signature)).toBe(true);
    expect(calls.map(({ operation }) => operation)).toEqual(['GetPublicKeyCommand', 'SignCommand']);
  });

  it('publishes its key again after a minute, because it may have been deleted', async () => {
    freezeClock(NOW);
    stubKms(one.response, one.response);
    const table = recordingTable();
    const signer = openSigner(table, ['first']);

    await signer();
    vi.setSystemTime(NOW + 60_000);
    await signer();
    expect(table.transactions).toHaveLength(1);
    vi.setSystemTime(NOW + 60_001);
    await signer();
    await signer();

    expect(table.transactions).toEqual([[claimOf(one)], [claimOf(one)]]);
  });

  it('publishes all keys of SIGNING_KEYS and signs with the first', async () => {
    vi.stubEnv('SIGNING_KEYS', 'first,second');
    const { calls } = stubKms(one.response, other.response, {
      Signature: asn1('x', one.privateKey),
    });
    const table = recordingTable();

    const signer = await openSigner(table)();
    await signer.sign('x');

    expect(signer.kid).toBe(one.jwk.kid);
    expect(table.transactions).toEqual([[claimOf(one)], [claimOf(other)]]);
    expect(calls.map(({ input }) => input.KeyId)).toEqual(['first', 'second', 'first']);
  });

  it('logs a failure to publish a later key without failing the login', async () => {
    stubKms(one.response, awsError('DisabledException'));

    expect((await openSigner(recordingTable(), ['first', 'second'])()).kid).toBe(one.jwk.kid);
    expect(lines).toMatchObject([{ keyNotPublished: 'DisabledException' }]);
  });

  it('fails when its first key cannot be published and tries again at the next login', async () => {
    const { calls } = stubKms(outage, outage, one.response);
    const signer = openSigner(recordingTable(), ['first']);

    await expect(signer()).rejects.toMatchObject({ name: 'KMSInternalException' });
    await expect(signer()).rejects.toMatchObject({ name: 'KMSInternalException' });
    expect((await signer()).kid).toBe(one.jwk.kid);
    await signer();

    expect(calls).toHaveLength(3);
    expect(lines).toEqual([]);
  });

  it('aborts its calls half a second before the deadline of the request', async () => {
    const { calls } = stubKms(one.response, { Signature: asn1('x', one.privateKey) });
    setDeadline(0);

    const signer = await openSigner(recordingTable({ pk: 'JWKS', sk: one.jwk.kid }), ['first'])();
    await signer.sign('x');
    setDeadline(Number.POSITIVE_INFINITY);

    expect(calls.map(({ signal }) => (signal as AbortSignal | undefined)?.aborted)).toEqual([
      true,
      true,
    ]);
  });

  it('leaves the keys of modules out of the table, and asks until KMS answers', async () => {
    vi.stubEnv('MODULE_KEYS', 'one,two');
    const { calls } = stubKms(outage, one.response, one.response, other.response);
    const [signer, readKeys] = [openModuleSigner(), openModuleKeys()];

    await expect(signer()).rejects.toMatchObject({ name: 'KMSInternalException' });
    const { kid } = await signer();
    await signer();
    const keys = await readKeys();
    await readKeys();
    vi.unstubAllEnvs();

    expect([kid, keys]).toEqual([one.jwk.kid, [one.jwk, other.jwk]]);
    expect(calls.map(({ input }) => input.KeyId)).toEqual(['one', 'one', 'one', 'two']);
  });

  it('verifies tokens of modules by the first key while another is disabled', async () => {
    vi.stubEnv('MODULE_KEYS', 'one,two');
    stubKms(one.response, awsError('DisabledException'), other.response);
    const readKeys = openModuleKeys();

    const [first, second] = [await readKeys(), await readKeys()];
    vi.unstubAllEnvs();

    expect(first).toEqual([one.jwk]);
    expect(lines).toMatchObject([{ keyNotRead: 'DisabledException' }]);
    expect(second).toEqual([one.jwk, other.jwk]);
  });
});
