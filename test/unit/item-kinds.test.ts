import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findDefect, VERIFIED_ATTRIBUTES } from '../../lib/operations/integrity/find-defect.ts';
import { ITEM_KINDS, ITEMS, kindOf } from '../../lib/operations/item-kinds.ts';
import type { ItemKind } from '../../lib/table/item-kind.ts';
import type { Item } from '../../lib/table/table.ts';
import { thumbprint } from '../../lib/tokens/thumbprint.ts';
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

/** Keys of each kind of item. */
const KEYS: Record<keyof typeof ITEMS, string[]> = {
  user: [`USER / ${ID}`, 'USER / 0000000000000001', 'USER / 9007199254740991'],
  login: ['LOGIN#a#b / GUARD'],
  email: ['EMAIL#a / GUARD'],
  administrators: ['ADMINS / ROSTER'],
  integration: [`INTEGRATION / ${ID}`],
  parameter: [`CONF / ${ID}`],
  credential: ['CREDENTIAL#a / CREDENTIAL'],
  sequence: ['SEQUENCE / USER', 'SEQUENCE / INTEGRATION'],
  total: ['TOTAL / USER', 'TOTAL / INTEGRATION', 'TOTAL / CONF'],
  format: ['FORMAT / FORMAT'],
  publicKey: [`JWKS / ${kid}`, 'JWKS / not-before'],
  notBefore: ['JWKS / NOT-BEFORE'],
  resetKey: ['RESET#a / RESET'],
  pendingEmail: [`PENDING-EMAIL#${ID} / EMAIL`],
  reads: [`READS#${ID} / 238000000`, 'READS#0000000000000-22 / 238000000'],
  formerUser: [`FORMER#${ID} / USER`],
  session: [`SESSION#${ID} / series`],
  changes: [`CHANGES#${ID} / 190000000`],
  mail: [`MAIL#${ID} / ${TIME}#1`],
  resetMail: [`RESET-MAIL#4bd3ff3f-0a47-4cd1-9d4b-5a9aee4ab5ac / ${TIME}#1`],
  mailCount: [
    ...['reset', 'invitation', 'passwordChanged', 'emailChanged', 'emailConfirmation'],
    ...[`reset#${HASH}`, 'reset#from 192.0.2.1'],
  ].map((sk) => `MAILS#${ID} / ${sk}`),
  attempts: ['ATTEMPTS#a / ELSEWHERE', 'ATTEMPTS#a / RECOVERY', 'ATTEMPTS#ab / NETWORK#b'],
  rejection: ['ATTEMPTS#a / REJECTED', 'ATTEMPTS#a / CODE-REJECTED'],
  source: ['ATTEMPTS#a / SOURCE#1', 'ATTEMPTS#a / RESETS#1', 'ATTEMPTS#a / MODULES#1'],
  credentialUse: ['CREDENTIAL-USE#a / USE'],
  importedUser: ['IMPORTED#a / USER'],
  importedIntegration: ['IMPORTED#a / INTEGRATION'],
  audit: [`AUDIT#2026-11 / ${TIME}#id`, `AUDIT#PERMANENT / ${TIME}#id`],
};

/** Keys that resemble the keys of a kind. */
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
/** The attributes that an item has wrong. */
const wrongIn = (item: Item): string[] =>
  WRONG.exec(findDefect(item)?.message ?? '')?.[1]?.split(', ') ?? [];

describe('an item', () => {
  it.each(
    Object.entries(KEYS).flatMap(([kind, names]) => names.map((name) => [name, kind] as const)),
  )('with the key %s is of the kind %s', (name, kind) => {
    expect(kindOf(keyOf(name))).toBe(ITEMS[kind as keyof typeof ITEMS]);
  });

  it.each(UNKNOWN)('is unknown under the key %s, and left to the operator', (name) => {
    const { pk, sk } = keyOf(name);

    expect(findDefect({ pk, sk, id: 1 })).toEqual({
      kind: 'unknown-item',
      keys: [{ pk, sk }],
      message: `${pk} / ${sk} is of a kind that this version does not know.`,
      remedy: { advice: expect.stringMatching(/^its purpose is unknown; .* delete it by hand$/) },
    });
  });

  it('is damaged when it lacks attributes, each of which is named', () => {
    expect(findDefect({ pk: 'RESET#a', sk: 'RESET', userId: 0 })).toEqual({
      kind: 'damaged-item',
      keys: [{ pk: 'RESET#a', sk: 'RESET' }],
      message:
        'RESET#a / RESET has missing or invalid attributes: userId, mailbox, issuedAt, expires.',
      remedy: {
        advice:
          'no other item holds them; compare the item with a backup of the table and ' +
          'correct it by hand',
      },
    });
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

  it('has the wrong id when it differs from its key', () => {
    const item = { ...keyOf(`CONF / ${ID}`), confName: 'a', version: 'v', id: 8 };

    expect(findDefect({ ...item, id: 7 })).toBeUndefined();
    expect(findDefect(item)).toEqual({
      kind: 'wrong-id',
      keys: [{ pk: 'CONF', sk: ID }],
      message: `CONF / ${ID} has the id 8.`,
      remedy: {
        advice:
          'either id can be the right one; compare the item with a backup of the table ' +
          'and correct it by hand',
      },
    });
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

it('docs/items.md draws the table', async () => {
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
  const document = readFileSync('docs/items.md', 'utf8');

  await expect(withGenerated(document, { items: table.join('\n') })).toMatchFileSnapshot(
    '../../docs/items.md',
  );
});
