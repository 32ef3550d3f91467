import { describe, expect, it } from 'vitest';
import { collectionOf, findDefect, VERIFIED_ATTRIBUTES } from '../../lib/integrity/item-kinds.ts';
import type { Key } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { thumbprint } from '../../lib/tokens/thumbprint.ts';

const ABSENT = Symbol('absent');
const LARGEST = Number.MAX_SAFE_INTEGER;

/** Valid and invalid values for each type of attribute. */
const TYPES = {
  id: { valid: [1, LARGEST], invalid: [ABSENT, '1', 0, -1, 1.5, LARGEST + 1, null, Number.NaN] },
  count: { valid: [0, 1, LARGEST], invalid: [ABSENT, '1', -1, 0.5, LARGEST + 1, null] },
  'count or absent': { valid: [ABSENT, 0, 1], invalid: ['1', -1, 0.5, LARGEST + 1, null] },
  whole: { valid: [-1, 0, 1, -LARGEST], invalid: [ABSENT, '1', 0.5, LARGEST + 1, null] },
  text: { valid: ['', 'a'], invalid: [ABSENT, 1, null, ['a'], true] },
  'text or absent': { valid: [ABSENT, 'a'], invalid: [1, null, ['a']] },
  texts: { valid: [[], ['a', 'b']], invalid: [ABSENT, 'a', [1], new Set(['a']), null] },
  boolean: { valid: [true, false], invalid: [ABSENT, 'true', 0, null] },
  version: { valid: ['aB3', '', 0, 7], invalid: [ABSENT, -1, 1.5, null, true, ['a']] },
  'ids or absent': {
    valid: [ABSENT, new Set([1]), new Set([1, 2])],
    invalid: [[1], new Set(['1']), new Set([0]), new Set([1, -1]), null, 1],
  },
  'module or absent': {
    valid: [
      ABSENT,
      { needsRestart: false, changes: 0 },
      { needsRestart: true, needsRestartSince: 0, changes: 1 },
    ],
    invalid: ['text', null, 1],
  },
  occasion: {
    valid: ['reset', 'invitation', 'passwordChanged', 'emailChanged'],
    invalid: ['', 'other', 7, null, ABSENT],
  },
  'mark or absent': { valid: [ABSENT, true], invalid: [false, 1, 'true', null] },
  'UTS46 or absent': { valid: [ABSENT, 'UTS46'], invalid: ['', 'NFKC', 46, null] },
} as const;
type Type = keyof typeof TYPES;

interface ItemKind {
  /** Keys of this kind. The sample item has the first. */
  readonly keys: readonly [pk: string, sk: string][];
  /** Keys that resemble them but are not of this kind. */
  readonly lookalikes: readonly [pk: string, sk: string][];
  readonly attributes: Readonly<Record<string, Type>>;
}

const jwk = { kty: 'EC', crv: 'P-256', x: 'the-x', y: 'the-y' };
const kid = thumbprint(jwk);

const collection = (kind: string): Pick<ItemKind, 'keys' | 'lookalikes'> => ({
  keys: [[kind, '0000000000000007']],
  lookalikes: [
    [kind, '7'],
    [kind, '000000000000007'],
    [kind, '00000000000000007'],
    [kind, '0000000000000000'],
    [kind, '-000000000000007'],
    [kind, '000000000000007.5'],
    [kind, '000000000000007x'],
    [kind, '0x00000000000007'],
    [kind, '9007199254740992'],
    [kind, '9007199254740993'],
    [kind, ''],
    [`${kind}S`, '0000000000000007'],
    [kind.toLowerCase(), '0000000000000007'],
  ],
});
const beside = (
  prefix: string,
  sk: string,
  lookalikes: [string, string][] = [],
): Pick<ItemKind, 'keys' | 'lookalikes'> => ({
  keys: [
    [`${prefix}a`, sk],
    [`${prefix}a#b`, sk],
  ],
  lookalikes: [
    [prefix, sk],
    [prefix.slice(0, -1), sk],
    [`x${prefix}a`, sk],
    [`${prefix}a`, `${sk}S`],
    [`${prefix}a`, sk.toLowerCase()],
    ...lookalikes,
  ],
});

const expiring = { expires: 'count' } as const;
const audit = {
  createdBy: 'text',
  createdDate: 'text',
  lastModifiedBy: 'text',
  lastModifiedDate: 'text',
} as const;

const KINDS: Record<string, ItemKind> = {
  user: {
    ...collection('USER'),
    attributes: {
      id: 'id',
      login: 'text',
      email: 'text',
      activated: 'boolean',
      langKey: 'text',
      authorities: 'texts',
      ...audit,
      version: 'version',
      passwordChanges: 'count',
      emailKeyRule: 'UTS46 or absent',
    },
  },
  'login guard': { ...beside('LOGIN#', 'GUARD'), attributes: { id: 'id' } },
  'email guard': { ...beside('EMAIL#', 'GUARD'), attributes: { id: 'id' } },
  roster: {
    keys: [['ADMINS', 'ROSTER']],
    lookalikes: [
      ['ADMINS', 'ROSTERS'],
      ['ADMINS', 'GUARD'],
      ['ADMIN', 'ROSTER'],
    ],
    attributes: { ids: 'ids or absent' },
  },
  integration: {
    ...collection('INTEGRATION'),
    attributes: {
      id: 'id',
      name: 'text',
      shortName: 'text',
      integrationType: 'text',
      active: 'boolean',
      module: 'module or absent',
      parameterCount: 'whole',
      parametersEver: 'whole',
      parameterBytes: 'count or absent',
      version: 'version',
      revision: 'count',
    },
  },
  parameter: {
    ...collection('CONF'),
    attributes: { id: 'id', confName: 'text', version: 'version', bytes: 'count or absent' },
  },
  sequence: {
    keys: [
      ['SEQUENCE', 'USER'],
      ['SEQUENCE', 'INTEGRATION'],
    ],
    lookalikes: [
      ['SEQUENCE', 'CONF'],
      ['SEQUENCE', 'user'],
      ['SEQUENCES', 'USER'],
    ],
    attributes: { n: 'whole' },
  },
  total: {
    keys: [
      ['TOTAL', 'USER'],
      ['TOTAL', 'INTEGRATION'],
      ['TOTAL', 'CONF'],
    ],
    lookalikes: [
      ['TOTAL', 'AUDIT'],
      ['TOTALS', 'CONF'],
    ],
    attributes: { n: 'whole', changes: 'count or absent' },
  },
  'oldest valid token': {
    keys: [['JWKS', 'NOT-BEFORE']],
    lookalikes: [
      ['GHOST', 'NOT-BEFORE'],
      ['USER', 'NOT-BEFORE'],
    ],
    attributes: { seconds: 'count' },
  },
  'audit entry': {
    keys: [
      ['AUDIT#2026-11', '2026-11-22T06:24:30.123Z#id'],
      ['AUDIT#2026-11', '2026-11'],
    ],
    lookalikes: [
      ['AUDIT#2026-11', '2026-12-01T00:00:00.000Z#id'],
      ['AUDIT#2026-1', '2026-1'],
      ['AUDIT#2026-111', '2026-111'],
      ['AUDIT#26-11', '26-11'],
      ['xAUDIT#2026-11', '2026-11-22T06:24:30.123Z#id'],
      ['AUDIT#2026-11x', '2026-11x'],
      ['AUDIT', '2026-11-22T06:24:30.123Z#id'],
    ],
    attributes: {
      time: 'text',
      actor: 'text',
      actorId: 'count',
      action: 'text',
      target: 'text',
      targetName: 'text',
      integrationName: 'text or absent',
    },
  },
  'permanent audit entry': {
    keys: [['AUDIT#PERMANENT', '2026-11-22T06:24:30.123Z#id']],
    lookalikes: [
      ['AUDIT#PERMANENT', '2026-11-22T06:24:30.123Z#'],
      ['AUDIT#PERMANENT', '2026-11-22T06:24:30.123Z'],
      ['AUDIT#PERMANENT', '2026-11-22T#id'],
      ['AUDIT#PERMANENT', '2026-11-22 06:24:30#id'],
      ['AUDIT#PERMANENT', '2026-11-2T06:24:30#id'],
      ['AUDIT#PERMANENT', 'x2026-11-22T06:24:30.123Z#id'],
      ['AUDIT#PERMANENTLY', '2026-11-22T06:24:30.123Z#id'],
    ],
    attributes: {
      time: 'text',
      actor: 'text',
      actorId: 'count',
      action: 'text',
      target: 'text',
      targetName: 'text',
      integrationName: 'text or absent',
    },
  },
  'failures elsewhere': {
    ...beside('ATTEMPTS#', 'ELSEWHERE'),
    attributes: { n: 'count', last: 'count', ...expiring },
  },
  'failures of a network': {
    keys: [['ATTEMPTS#a', 'NETWORK#b']],
    lookalikes: [
      ['ATTEMPTS#a', 'NETWORK#'],
      ['ATTEMPTS#a', 'NETWORK'],
      ['ATTEMPTS#a', 'xNETWORK#b'],
      ['ATTEMPTS#', 'NETWORK#b'],
      ['xATTEMPTS#a', 'NETWORK#b'],
    ],
    attributes: { n: 'count', last: 'count', ...expiring },
  },
  'failures of a source': {
    ...beside('ATTEMPTS#', 'SOURCE'),
    attributes: { n: 'count', since: 'count', ...expiring },
  },
  'resets of a source': {
    ...beside('ATTEMPTS#', 'RESETS'),
    attributes: { requests: 'count', since: 'count', ...expiring },
  },
  'mail to be sent': {
    keys: [
      ['MAIL#0000000000000007', '2030-01-01T00:00:00.000Z#1'],
      ['RESET-MAIL#4bd3ff3f-0a47-4cd1-9d4b-5a9aee4ab5ac', '2030-01-01T00:00:00.000Z#1'],
    ],
    lookalikes: [
      ['MAIL#', '2030-01-01T00:00:00.000Z#1'],
      ['MAIL#7', 'now#1'],
      ['MAIL#7', '2030-01-01T00:00:00.000Z#'],
      ['xMAIL#7', '2030-01-01T00:00:00.000Z#1'],
    ],
    attributes: { occasion: 'occasion', counted: 'mark or absent', ...expiring },
  },
  'mails to a user': {
    keys: ['reset', 'invitation', 'passwordChanged', 'emailChanged'].map((occasion) => [
      'MAILS#0000000000000007',
      occasion,
    ]) as [[string, string]],
    lookalikes: [
      ['MAILS#0000000000000007', 'other'],
      ['MAILS#0000000000000007', ''],
      ['MAILS#000000000000007', 'reset'],
      ['MAILS#00000000000000007', 'reset'],
      ['MAILS#000000000000000x', 'reset'],
      ['xMAILS#0000000000000007', 'reset'],
    ],
    attributes: { n: 'count', since: 'count', ...expiring },
  },
  'read budget': {
    ...beside('READS#', 'BUDGET'),
    attributes: {
      paidBackAt: 'count or absent',
      stalePaidBackAt: 'count or absent',
      ...expiring,
    },
  },
  precedence: {
    ...beside('PRECEDENCE#', 'PRECEDENCE'),
    attributes: { until: 'count', ...expiring },
  },
  'marker of a user': { ...beside('IMPORTED#', 'USER'), attributes: { id: 'id' } },
  'marker of an integration': { ...beside('IMPORTED#', 'INTEGRATION'), attributes: { id: 'id' } },
  'reset key': { ...beside('RESET#', 'RESET'), attributes: { userId: 'id', ...expiring } },
};

const GOOD: Partial<Record<Type, unknown>> = {
  'mark or absent': true,
  'count or absent': 1,
  'ids or absent': new Set([1]),
  'UTS46 or absent': 'UTS46',
  'text or absent': 'a',
  'module or absent': { needsRestart: true, needsRestartSince: 1, changes: 1 },
};

/** An intact item. In a collection, its id is that of its key. */
function itemOf({ keys, attributes }: ItemKind, [pk, sk] = keys[0] as [string, string]): Item {
  const values = Object.entries(attributes).map(([name, type]) => [
    name,
    GOOD[type] ?? TYPES[type].valid[0],
  ]);
  const isCollected = ['USER', 'INTEGRATION', 'CONF'].includes(pk);
  return { ...Object.fromEntries(values), ...(isCollected && { id: Number(sk) }), pk, sk } as Item;
}

function withValue(item: Item, name: string, value: unknown): Item {
  const { [name]: _, ...others } = item;
  return value === ABSENT ? (others as Item) : { ...item, [name]: value };
}

describe.each(Object.entries(KINDS))('an item of kind %s', (_, kind) => {
  const { keys, lookalikes, attributes } = kind;
  const values = (side: 'valid' | 'invalid') =>
    Object.entries(attributes).flatMap(([name, type]) =>
      TYPES[type][side].map((value) => ({ name, type, value })),
    );

  it.each(keys)('is recognized by the key %s / %s', (pk, sk) => {
    expect(findDefect(itemOf(kind, [pk, sk]))).toBeUndefined();
  });

  it('may have attributes that the verification never reads', () => {
    expect(findDefect({ ...itemOf(kind), passwordHash: 7, other: null })).toBeUndefined();
  });

  it.each(values('valid'))('accepts $value as its $name of type $type', ({ name, value }) => {
    const item = withValue(itemOf(kind), name, value);
    const isOwnId = name === 'id' && collectionOf(item) !== undefined;

    expect(findDefect(item)?.kind).toBe(isOwnId ? 'wrong-id' : undefined);
  });

  it.each(values('invalid'))(
    'is damaged when its $name of type $type is $value',
    ({ name, value }) => {
      const [[pk, sk] = ['', '']] = keys;

      const defect = findDefect(withValue(itemOf(kind), name, value));

      expect(defect).toEqual({
        kind: 'damaged-item',
        keys: [{ pk, sk }],
        message: expect.stringMatching(
          new RegExp(` / .+ has missing or invalid attributes: ${name}(\\.\\d)?\\.$`),
        ),
        remedy: {
          advice:
            'no other item holds them; compare the item with a backup of the table and ' +
            'correct it by hand',
        },
      });
    },
  );

  it('has every invalid attribute named once', () => {
    const required = Object.entries(attributes).filter(([, type]) => !type.endsWith('absent'));
    const [pk, sk] = keys[0] as [string, string];

    const names = required.map(([name]) => name).join(', ');
    expect(findDefect({ pk, sk })?.message).toBe(
      names ? `${pk} / ${sk} has missing or invalid attributes: ${names}.` : undefined,
    );
  });

  it.each(lookalikes)('is not recognized by the key %s / %s', (pk, sk) => {
    const item = itemOf(kind, [pk, sk]);

    expect(findDefect(item)?.kind).toMatch(pk === 'JWKS' ? /./ : /^unknown-item$/);
  });
});

describe('a user, integration or parameter', () => {
  it.each(['user', 'integration', 'parameter'])(
    'has the wrong id when it differs from its key: %s',
    (name) => {
      const item = itemOf(KINDS[name] as ItemKind);

      expect(findDefect({ ...item, id: 8 })).toEqual({
        kind: 'wrong-id',
        keys: [{ pk: item.pk, sk: item.sk }],
        message: `${item.pk} / 0000000000000007 has the id 8.`,
        remedy: {
          advice:
            'either id can be the right one; compare the item with a backup of the table ' +
            'and correct it by hand',
        },
      });
    },
  );

  it('may have any id from 1 to the largest safe integer', () => {
    const user = itemOf(KINDS.user as ItemKind);

    expect(findDefect({ ...user, sk: '9007199254740991', id: LARGEST })).toBeUndefined();
    expect(findDefect({ ...user, sk: '0000000000000001', id: 1 })).toBeUndefined();
  });
});

describe('the module of an integration', () => {
  const module = { needsRestart: true, needsRestartSince: 1, changes: 1 };

  it.each<[keyof typeof module, unknown[]]>([
    ['needsRestart', [undefined, 'true', null]],
    ['needsRestartSince', ['1', -1, 0.5, null]],
    ['changes', [undefined, '1', -1, 0.5, null]],
  ])('is damaged when its %s is missing or of another type', (name, values) => {
    for (const value of values) {
      expect(
        findDefect({
          ...itemOf(KINDS.integration as ItemKind),
          module: { ...module, [name]: value },
        }),
      ).toMatchObject({
        kind: 'damaged-item',
        message: `INTEGRATION / 0000000000000007 has missing or invalid attributes: module.${name}.`,
      });
    }
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

  it.each(['x', 'y'])('is wrong when its %s differs', (name) => {
    const changed = { ...jwk, kid, [name]: 'another' };

    expect(findDefect({ ...key, jwk: changed })?.message).toContain(
      `whose id is ${thumbprint(changed)}`,
    );
  });

  it.each(['kid', 'kty', 'crv', 'x', 'y'])(
    'is damaged when %s is missing or of another type',
    (name) => {
      for (const value of [undefined, 7, null]) {
        expect(findDefect({ ...key, jwk: { ...jwk, kid, [name]: value } })).toMatchObject({
          kind: 'damaged-item',
          message: `JWKS / ${kid} has missing or invalid attributes: jwk.${name}.`,
        });
      }
    },
  );

  it.each([undefined, 'text', null])('is damaged when it is %j', (value) => {
    expect(findDefect({ ...key, jwk: value })?.message).toBe(
      `JWKS / ${kid} has missing or invalid attributes: jwk.`,
    );
  });

  it('is expected in every JWKS item except NOT-BEFORE', () => {
    expect(findDefect({ pk: 'JWKS', sk: 'not-before', seconds: 1 })?.kind).toBe('damaged-item');
    expect(findDefect({ pk: 'JWKS', sk: 'NOT-BEFORE', jwk: { ...jwk, kid } })?.message).toContain(
      'seconds',
    );
  });
});

it('a set with several invalid elements is reported once', () => {
  const roster = { pk: 'ADMINS', sk: 'ROSTER', ids: new Set([0, -1, 1]) };

  expect(findDefect(roster)?.message).toBe(
    'ADMINS / ROSTER has missing or invalid attributes: ids.',
  );
});

describe('an unknown item', () => {
  it('is reported and left to the operator', () => {
    expect(findDefect({ pk: 'GHOST', sk: 'x', id: 1 })).toEqual({
      kind: 'unknown-item',
      keys: [{ pk: 'GHOST', sk: 'x' }],
      message: 'GHOST / x is of a kind that this version does not know.',
      remedy: {
        advice:
          'its purpose is unknown; if a newer version has written it, verify with that ' +
          'version, otherwise delete it by hand',
      },
    });
  });
});

describe('the verification', () => {
  it('reads exactly these attributes: no password, stamp, value or personal name', () => {
    const named = Object.values(KINDS).flatMap(({ attributes }) => Object.keys(attributes));

    expect([...VERIFIED_ATTRIBUTES].sort()).toEqual([...new Set([...named, 'jwk'])].sort());
    expect(new Set(VERIFIED_ATTRIBUTES).size).toBe(VERIFIED_ATTRIBUTES.length);
  });

  it.each<[Key, string | undefined]>([
    [{ pk: 'USER', sk: '0000000000000001' }, 'USER'],
    [{ pk: 'INTEGRATION', sk: '0000000000000010' }, 'INTEGRATION'],
    [{ pk: 'CONF', sk: '9007199254740991' }, 'CONF'],
    [{ pk: 'CONF', sk: '9007199254740992' }, undefined],
    [{ pk: 'CONF', sk: '0000000000000001-old' }, undefined],
    [{ pk: 'USER', sk: '0000000000000000' }, undefined],
    [{ pk: 'USER', sk: '1' }, undefined],
    [{ pk: 'TOTAL', sk: 'USER' }, undefined],
    [{ pk: 'user', sk: '0000000000000001' }, undefined],
  ])('assigns %j to the collection %s', (key, expected) => {
    expect(collectionOf(key)).toBe(expected);
  });
});
