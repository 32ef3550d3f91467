import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findDefect, VERIFIED_ATTRIBUTES } from '../../lib/operations/integrity/find-defect.ts';
import { ITEM_KINDS, ITEMS } from '../../lib/operations/item-kinds.ts';
import type { ItemKind } from '../../lib/table/item-kind.ts';
import type { Item } from '../../lib/table/table.ts';
import { thumbprint } from '../../lib/tokens/token.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';

const jwk = { kty: 'EC', crv: 'P-256', x: 'the-x', y: 'the-y' };
const kid = thumbprint(jwk);
const FACTOR = { nonce: 'n', key: 'k', lastStep: 0, recoveryNonce: 'r', recoveryCodes: 1023 };

const keyOf = (name: string): Item => {
  const [pk = '', sk = ''] = name.split(' / ');
  return { pk, sk };
};
const TIME = '2026-11-22T06:24:30.123Z';
const ID = '0000000000000007';
const HASH = '0a'.repeat(32);

/** Values of the placeholders in keys; any other is a text. */
const SAMPLES: Readonly<Record<string, string>> = {
  id: ID,
  'user id': ID,
  'negative integration id': '0000000000000-22',
  month: '2026-11',
  time: TIME,
  window: '238000000',
  'SHA-256': HASH,
  occasion: 'reset',
};
const sampleOf = (key: string): string =>
  key.replaceAll(/<([^>]+)>/g, (_, name) => SAMPLES[name] ?? 'a');

/** A key of each form that a kind declares, and others that a kind must own. */
const KEYS: readonly (readonly [string, ItemKind])[] = [
  ...ITEM_KINDS.flatMap((kind) =>
    kind.pk.flatMap((pk) =>
      kind.sk.map((sk) => [`${sampleOf(pk)} / ${sampleOf(sk)}`, kind] as const),
    ),
  ),
  ['USER / 0000000000000001', ITEMS.user],
  ['USER / 9007199254740991', ITEMS.user],
  ['LOGIN#a#b / GUARD', ITEMS.login],
  ['JWKS / not-before', ITEMS.publicKey],
  ...['invitation', 'passwordChanged', 'emailChanged', 'emailConfirmation'].map(
    (occasion) => [`MAILS#${ID} / ${occasion}`, ITEMS.mailCount] as const,
  ),
];

const UNKNOWN = [
  'GHOST / x',
  ...[
    ...['7', '000000000000007', '00000000000000007', '0000000000000000', '-000000000000007'],
    ...['000000000000007.5', '000000000000007x', '0x00000000000007', '9007199254740992', ''],
  ].map((sk) => `USER / ${sk}`),
  `USERS / ${ID}`,
  `integration / ${ID}`,
  'CONF / 0000000000000001-old',
  ...['LOGIN# / GUARD', 'LOGIN / GUARD', 'xLOGIN#a / GUARD', 'LOGIN#a / GUARDS', 'LOGIN#a / guard'],
  ...['ADMINS / GUARD', 'ADMIN / ROSTER', 'USER / NOT-BEFORE'],
  ...['SEQUENCE / CONF', 'SEQUENCE / user', 'SEQUENCES / USER', 'TOTAL / AUDIT', 'TOTALS / CONF'],
  ...['AUDIT#2026-1 / 2026-1', 'AUDIT#2026-111 / 2026-111', 'AUDIT#26-11 / 26-11'],
  ...[
    'AUDIT#2026-11x / 2026-11x',
    'AUDIT#2026-11 / 2026-11',
    'AUDIT#2026-11 / 2026-12-01T00:00:00.000Z#id',
  ],
  ...[`xAUDIT#2026-11 / ${TIME}#id`, 'xAUDIT#2026-11 / #2026-11', `AUDIT / ${TIME}#id`],
  ...[`${TIME}#`, TIME, '2026-11-22T#id', '2026-11-22 06:24:30#id', '2026-11-2T06:24:30#id'].map(
    (sk) => `AUDIT#PERMANENT / ${sk}`,
  ),
  ...[`AUDIT#PERMANENT / x${TIME}#id`, `AUDIT#PERMANENTLY / ${TIME}#id`],
  ...['ATTEMPTS#a / NETWORK#', 'ATTEMPTS#a / NETWORK', 'ATTEMPTS#a / xNETWORK#b'],
  ...['ATTEMPTS# / NETWORK#b', 'xATTEMPTS#a / NETWORK#b'],
  ...[`MAIL# / ${TIME}#1`, `MAIL#7 / ${TIME}#1`, `xMAIL#${ID} / ${TIME}#1`],
  ...[`MAIL#${ID} / now#1`, `MAIL#${ID} / ${TIME}#`, `MAIL#${ID} / x${TIME}#1`],
  ...['', 'other', 'reset#0a', `reset#${HASH}0`, `xreset#${HASH}`].map(
    (sk) => `MAILS#${ID} / ${sk}`,
  ),
  ...['000000000000007', `${ID}7`, '000000000000000x'].map((id) => `MAILS#${id} / reset`),
  `xMAILS#${ID} / reset`,
  ...['PENDING-EMAIL#7 / EMAIL', `xPENDING-EMAIL#${ID} / EMAIL`, `PENDING-EMAIL#${ID}7 / EMAIL`],
  `PENDING-EMAIL#${ID} / email`,
];

const WRONG = / has missing or invalid attributes: (.*)\.$/;
const wrongIn = (item: Item): string[] =>
  WRONG.exec(findDefect(item)?.message ?? '')?.[1]?.split(', ') ?? [];

describe('an item', () => {
  it.each(KEYS)('with the key %s is of one kind alone', (name, kind) => {
    expect(ITEM_KINDS.filter(({ owns }) => owns(keyOf(name)))).toEqual([kind]);
  });

  it.each(UNKNOWN)('is unknown under the key %s', (name) => {
    const { pk, sk } = keyOf(name);

    expect(findDefect({ pk, sk, id: 1 })?.kind).toBe('unknown-item');
  });

  it('is damaged when it lacks attributes, each of which is named', () => {
    const reset = { pk: 'RESET#a', sk: 'RESET', userId: 0 };
    expect(wrongIn(reset)).toEqual(['userId', 'mailbox', 'issuedAt', 'expires']);
    const sets = { pk: 'ADMINS', sk: 'ROSTER', ids: new Set([0, -1, 1]) };
    const nested = { needsRestart: 1, needsRestartSince: -1, changes: -1 };
    const wrong = wrongIn({ ...keyOf(`INTEGRATION / ${ID}`), module: nested });
    expect(wrongIn(sets)).toEqual(['ids']);
    expect(wrong.filter((field) => field.startsWith('module.'))).toEqual([
      'module.needsRestart',
      'module.needsRestartSince',
      'module.changes',
    ]);
  });

  it('is damaged when its second factor is', () => {
    const wrongWith = (secondFactor: unknown) =>
      wrongIn({ ...keyOf(`USER / ${ID}`), secondFactor }).filter((name) => /factor/i.test(name));

    expect(wrongWith(FACTOR)).toEqual([]);
    expect(wrongWith({ ...FACTOR, recoveryCodes: 1024 })).toEqual(['secondFactor.recoveryCodes']);
    expect(wrongWith({ nonce: 1, lastStep: -1, recoveryCodes: 0.5 })).toEqual([
      'secondFactor.nonce',
      'secondFactor.key',
      'secondFactor.lastStep',
      'secondFactor.recoveryNonce',
      'secondFactor.recoveryCodes',
    ]);
  });
});

describe('a public key', () => {
  const key: Item = { pk: 'JWKS', sk: kid, jwk: { ...jwk, kid } };

  it('is identified by its thumbprint', () => {
    expect(findDefect(key)).toBeUndefined();
  });

  it.each<[string, Partial<Item>]>([
    ['is stored under another id', { sk: 'other' }],
    ['states another id', { jwk: { ...jwk, kid: 'other' } }],
    ['states and is stored under another id', { sk: 'other', jwk: { ...jwk, kid: 'other' } }],
  ])('is wrong when it %s', (_, changes) => {
    const item = { ...key, ...changes };

    expect(findDefect(item)).toEqual({
      kind: 'wrong-signing-key',
      keys: [{ pk: 'JWKS', sk: item.sk }],
      message: `JWKS / ${item.sk} holds a key whose id is ${kid}.`,
      remedy: {
        advice:
          'the origin of the key is unknown; delete the item: logins publish the keys of ' +
          'the stack again within a minute',
      },
    });
  });

  it.each(['kid', 'kty', 'crv', 'x', 'y'])('is damaged without %s', (name) => {
    for (const value of [undefined, 7, null])
      expect(wrongIn({ ...key, jwk: { ...jwk, kid, [name]: value } })).toEqual([`jwk.${name}`]);
  });
});

it('the verification reads no password, security stamp, value or personal name', () => {
  const attributes = VERIFIED_ATTRIBUTES.join(' ');

  expect(attributes).not.toMatch(
    /password(?!Changes)|incarnation|securityStamp|value|firstName|lastName|image/i,
  );
  expect(new Set(VERIFIED_ATTRIBUTES).size).toBe(VERIFIED_ATTRIBUTES.length);
});

it('the document draws the table', async () => {
  const cells = (kind: ItemKind) => [
    kind.name,
    ...[kind.pk, kind.sk].map((keys) => keys.map((key) => `\`${key}\``).join('<br>')),
    { number: 'yes', optional: 'some' }[String(kind.attributes.entries.expires?.type)] ?? '',
    kind.onForget === 'keep' ? '' : kind.onForget,
    kind.onRestore === 'keep' ? '' : kind.onRestore,
    Object.keys(kind.attributes.entries).join(', '),
  ];
  const rows = ITEM_KINDS.map((kind) => `| ${cells(kind).join(' | ')} |`);

  const table = [
    '| item | partition key | sort key | expires | forgotten | restored | attributes |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ];
  const document = readFileSync('docs/adding-an-endpoint.md', 'utf8');

  await expect(withGenerated(document, { items: table.join('\n') })).toMatchFileSnapshot(
    '../../docs/adding-an-endpoint.md',
  );
});
