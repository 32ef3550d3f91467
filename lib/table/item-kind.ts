import * as v from 'valibot';
import { type Key, KINDS, type Kind, SEQUENCES, type Sequence } from './keys.ts';

/*
 * One declaration per kind of item, in the folder that owns it; operations/item-kinds.ts lists all.
 */

/**
 * The declaration of a kind: a literal of values and functions. esbuild leaves it out where it is
 * not used; it would keep a call.
 */
export interface ItemDeclaration {
  /** What one is, in words. */
  readonly name: string;
  /** The partition keys and the sort keys, in which `<…>` stands for what differs. */
  readonly pk: string | readonly string[];
  readonly sk: string | readonly string[];
  /** What the patterns of the keys cannot say. */
  readonly matches?: (key: Key) => boolean;
  /** The attributes that the verification checks, with their types; no others are read there. */
  readonly attributes: () => v.ObjectSchema<v.ObjectEntries, undefined>;
  /** The attributes about a person, which `npm run admin -- person` reads. */
  readonly personal?: readonly string[];
  /** The attribute that tells whose item it is, if the partition key has no `<user id>`. */
  readonly personIn?: 'userId' | 'id' | 'email';
  /**
   * When a person is forgotten: the person's items are deleted, what names the person in them is
   * replaced, or they are kept.
   */
  readonly onForget: 'delete' | 'rename' | 'keep';
  /** When a restored table is adopted: they are deleted, changed or kept. */
  readonly onRestore: 'delete' | 'change' | 'keep';
}

/** A kind of item. */
export interface ItemKind
  extends Pick<ItemDeclaration, 'name' | 'personIn' | 'onForget' | 'onRestore'> {
  readonly pk: readonly string[];
  readonly sk: readonly string[];
  /** The partition key, or all partition keys up to their `#`: what a permission names. */
  readonly partition: string;
  readonly attributes: v.ObjectSchema<v.ObjectEntries, undefined>;
  readonly personal: readonly string[];
  /** Whether a key is one of this kind. */
  owns(key: Key): boolean;
}

/** Placeholders of keys; any other stands for any text. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  id: '\\d{16}',
  'user id': '\\d{16}',
  'negative integration id': '0*-\\d+',
  month: '\\d{4}-\\d{2}',
  time: '\\d{4}-\\d{2}-\\d{2}T.+',
  window: '\\d+',
  'SHA-256': '[\\da-f]{64}',
  occasion: '\\w+',
};

function patternOf(keys: readonly string[]): RegExp {
  const patterns = keys.map((key) =>
    key.replaceAll(/<([^>]+)>/g, (_, name) => PLACEHOLDERS[name] ?? '.+'),
  );
  return new RegExp(`^(${patterns.join('|')})$`, 's');
}

const listed = (keys: string | readonly string[]) => (typeof keys === 'string' ? [keys] : keys);

/** The kind of item of a declaration. */
export function itemKind({
  matches = () => true,
  personal = [],
  ...declaration
}: ItemDeclaration): ItemKind {
  const [pk, sk] = [listed(declaration.pk), listed(declaration.sk)];
  const [pkPattern, skPattern] = [patternOf(pk), patternOf(sk)];
  return {
    ...declaration,
    attributes: declaration.attributes(),
    personal,
    pk,
    sk,
    partition: (pk[0] as string).replace(/#.*/, '#'),
    owns: (key) => pkPattern.test(key.pk) && skPattern.test(key.sk) && matches(key),
  };
}

/* The types of attributes. */
export const text = v.string();
export const whole = v.pipe(v.number(), v.safeInteger());
export const id = v.pipe(whole, v.minValue(1));
export const count = v.pipe(whole, v.minValue(0));

/*
 * The items that count the assigned ids and the entities of each kind: declared here, because the
 * table counts for all folders and no other owns them.
 */

export const sequenceKey = (kind: Sequence): Key => ({ pk: 'SEQUENCE', sk: kind });
/** The last id of a kind that was assigned. */
export const sequenceItem: ItemDeclaration = {
  pk: 'SEQUENCE',
  sk: SEQUENCES,
  name: 'last id of a kind',
  attributes: () => v.object({ n: whole }),
  onForget: 'keep',
  onRestore: 'change',
};

export const totalKey = (kind: Kind): Key => ({ pk: 'TOTAL', sk: kind });
/** How many entities of a kind there are, and how often that has changed. */
export const totalItem: ItemDeclaration = {
  pk: 'TOTAL',
  sk: KINDS,
  name: 'total of a kind',
  attributes: () => v.object({ n: whole, changes: v.optional(count) }),
  onForget: 'keep',
  onRestore: 'keep',
};
