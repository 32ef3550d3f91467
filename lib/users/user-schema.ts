import * as v from 'valibot';
import { ROLES } from '../contract/contract.ts';
import { line, noId, text, updatedId } from '../contract/fields.ts';
import { password } from '../passwords/password-schema.ts';
import { asciiDomain, INVISIBLE } from './email-key.ts';
import type { EditableUserField } from './user.ts';

/** Logins that a path under /api/users means something else by. */
export const RESERVED_LOGINS: readonly string[] = ['authorities'];

const LOGIN = /^[A-Za-z0-9!$&*+=^_`{|}~.@-]{1,50}$/;

/** Whether a user could have this login. `.` and `..` could not: clients resolve such paths away. */
export function isLogin(value: string): boolean {
  return LOGIN.test(value) && value !== '.' && value !== '..' && !RESERVED_LOGINS.includes(value);
}

export const login = v.pipe(text(1, 50), v.check(isLogin, 'Pattern'));

/** The `{login}` of a path. What cannot be a login becomes one that nobody has: 404 in its turn, after 403. */
export const loginInPath = v.object({
  login: v.pipe(
    v.string(),
    v.transform((value) => (isLogin(value) ? value : '.')),
  ),
});

// Without the characters of mail syntax either: `a<b@c>` would be sent to somebody else than it is unique for.
const ADDRESS = /^[^@\s,\p{Cc}<>()[\]\\;:"]+@[^@\s,\p{Cc}<>()[\]\\;:"]+$/u;

const isAddress = (value: string): boolean =>
  ADDRESS.test(value) && !INVISIBLE.test(value) && asciiDomain(value.slice(value.indexOf('@') + 1)) !== undefined;

/**
 * An e-mail address: one @, no space, comma, control or invisible character, and a domain that has an ASCII form by
 * UTS 46; as given and as its compatibility form.
 */
export const email = v.pipe(
  text(0, 254),
  v.minLength(3, 'Size'),
  v.check((value) => isAddress(value) && isAddress(value.normalize('NFKC')), 'Email'),
  v.check((value) => value.normalize('NFKC').length <= 254, 'Size'),
);

const langKey = v.pipe(line(10), v.minLength(2, 'Size'));
const authorities = v.pipe(
  v.array(v.picklist(ROLES, 'Pattern'), 'TypeMismatch'),
  v.transform((roles) => [...new Set(roles)]),
);

/** A name or image that null clears; left out it stays as it is. */
const clearable = (longest: number) =>
  v.optional(
    v.pipe(
      v.nullable(line(longest)),
      v.transform((value) => value ?? undefined),
    ),
  );

/** A schema for each of these fields and for no other: a field that is not listed in user.ts would be lost. */
type Fields<K extends EditableUserField | 'id' | 'password'> = Record<K, v.GenericSchema<unknown, unknown>>;

/** What users can set for themselves besides address and language. */
const person = {
  firstName: clearable(50),
  lastName: clearable(50),
  imageUrl: clearable(256),
} satisfies Fields<'firstName' | 'lastName' | 'imageUrl'>;

export const newUser = v.object({
  id: noId,
  login,
  email,
  ...person,
  activated: v.nullish(v.boolean('TypeMismatch'), true),
  langKey: v.nullish(langKey, 'en'),
  authorities: v.nullish(authorities, []),
  // Clients send an empty password along when they mean none.
  password: v.optional(
    v.pipe(
      v.unknown(),
      v.transform((value) => (value === '' || value === null ? undefined : value)),
      v.optional(password),
    ),
  ),
} satisfies Fields<EditableUserField | 'id' | 'password'>);
export type NewUser = v.InferOutput<typeof newUser>;

export const userChange = v.object({
  id: updatedId,
  login,
  email,
  ...person,
  activated: v.optional(v.boolean('TypeMismatch')),
  langKey: v.optional(langKey),
  authorities: v.optional(authorities),
} satisfies Fields<EditableUserField | 'id'>);
export type UserChange = v.InferOutput<typeof userChange>;

export const ownAccountChange = v.object({
  email: v.optional(email),
  ...person,
  langKey: v.optional(langKey),
} satisfies Fields<'email' | 'langKey' | keyof typeof person>);
export type OwnAccountChange = v.InferOutput<typeof ownAccountChange>;

/** A user in answers. */
export const userResponse = v.strictObject({
  id: v.number(),
  login: v.string(),
  firstName: v.nullable(v.string()),
  lastName: v.nullable(v.string()),
  email: v.string(),
  imageUrl: v.nullable(v.string()),
  activated: v.boolean(),
  langKey: v.string(),
  authorities: v.array(v.picklist(ROLES)),
  createdBy: v.string(),
  createdDate: v.pipe(v.string(), v.isoTimestamp()),
  lastModifiedBy: v.string(),
  lastModifiedDate: v.pipe(v.string(), v.isoTimestamp()),
});
