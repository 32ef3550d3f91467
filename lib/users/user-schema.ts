import * as v from 'valibot';
import { ROLES } from '../contract/contract.ts';
import {
  clearable,
  codePoints,
  limited,
  line,
  matching,
  noId,
  oneOf,
  optionalText,
  responseId,
  responseTime,
  text,
  updatedId,
} from '../contract/fields.ts';
import { asciiDomain, INVISIBLE } from '../mail/address.ts';
import { PASSWORD_JSON, password } from '../passwords/password-schema.ts';
import { type EditableUserField, USER_STATES } from './user.ts';

/** Logins that would collide with other paths under /api/users. */
export const RESERVED_LOGINS: readonly string[] = ['authorities'];

// `.` and `..` are excluded because clients resolve them as path segments.
const LOGIN = new RegExp(
  `^(?!(?:[.]{1,2}|${RESERVED_LOGINS.join('|')})$)[A-Za-z0-9!$&*+=^_\`{|}~.@-]{1,50}$`,
);

/** Whether this is a valid login. */
export const isLogin = (value: string): boolean => LOGIN.test(value);

export const login = v.pipe(text(1, 50), matching(LOGIN));

/** The `{login}` of a path. A path without a valid login names no user. */
export const loginInPath = v.object({ login: v.pipe(v.string(), matching(LOGIN)) });

// Excludes characters of mail syntax: a message to `a<b@c>` would go to an address other than the
// unique one. The URL parser behind asciiDomain would decode a percent sign in a domain.
const ADDRESS = /^[^@\s,\p{Cc}<>()[\]\\;:"]+@[^@\s,\p{Cc}<>()[\]\\;:"%]+$/u;

function isAddress(value: string): boolean {
  if (!ADDRESS.test(value) || INVISIBLE.test(value)) return false;
  const domain = value.slice(value.indexOf('@') + 1);
  const ascii = asciiDomain(domain);
  // The URL parser takes a domain that ends in a number for an IPv4 address: `256` for 0.0.1.0.
  return ascii !== undefined && (ascii === domain || !/^[\d.]+$/.test(ascii));
}

/**
 * An e-mail address: one @, no space, comma, mail syntax, control or invisible character, and a
 * domain that has an ASCII form by UTS 46. The rules apply to the address as given and to its
 * compatibility form (NFKC).
 */
export const email = v.pipe(
  text(3, 254),
  v.metadata({ format: 'idn-email' }),
  v.check((value) => isAddress(value) && isAddress(value.normalize('NFKC')), 'Email'),
  limited({ max: 254 }, (value) => codePoints(value.normalize('NFKC')) <= 254, 'Size'),
);

const langKey = line(2, 10);
const authorities = v.pipe(
  v.array(oneOf(ROLES), 'TypeMismatch'),
  v.transform((roles) => [...new Set(roles)]),
);

/**
 * No password: a client that sends one to an endpoint that sets none must not believe that it has
 * set it. Forms send an empty one.
 */
const noPassword = v.optional(
  v.pipe(
    v.nullable(v.string('TypeMismatch')),
    limited(
      { max: 0, reason: 'This request sets no password' },
      (value) => value === null || value === '',
      'Size',
    ),
    v.metadata({ anyOf: [{ type: 'string', const: '' }, { type: 'null' }] }),
  ),
);

/**
 * Requires a schema for exactly these fields: one that is not listed in user.ts would be dropped
 * silently.
 */
type Fields<K extends EditableUserField | 'id' | 'password'> = Record<
  K,
  v.GenericSchema<unknown, unknown>
>;

/** The fields that users can set in their own account, besides address and language. */
const person = {
  firstName: clearable(line(0, 50)),
  lastName: clearable(line(0, 50)),
  imageUrl: clearable(line(0, 256)),
} satisfies Fields<'firstName' | 'lastName' | 'imageUrl'>;

export const newUser = v.object({
  id: noId,
  login,
  email,
  ...person,
  activated: v.nullish(v.boolean('TypeMismatch'), true),
  langKey: optionalText(langKey, 'en'),
  authorities: v.nullish(authorities, []),
  // Clients send an empty password to mean none.
  password: v.optional(
    v.pipe(
      v.unknown(),
      v.metadata({ anyOf: [PASSWORD_JSON, { type: 'string', const: '' }, { type: 'null' }] }),
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
  password: noPassword,
} satisfies Fields<EditableUserField | 'id' | 'password'>);
export type UserChange = v.InferOutput<typeof userChange>;

export const ownAccountChange = v.object({
  email: v.optional(email),
  ...person,
  langKey: v.optional(langKey),
  password: noPassword,
} satisfies Fields<'email' | 'langKey' | 'password' | keyof typeof person>);
export type OwnAccountChange = v.InferOutput<typeof ownAccountChange>;

/** The schema of a user in responses. */
export const userResponse = v.strictObject({
  id: responseId,
  login: v.string(),
  firstName: v.nullable(v.string()),
  lastName: v.nullable(v.string()),
  email: v.string(),
  imageUrl: v.nullable(v.string()),
  activated: v.boolean(),
  langKey: v.string(),
  authorities: v.array(v.picklist(ROLES)),
  createdBy: v.string(),
  createdDate: responseTime,
  lastModifiedBy: v.string(),
  lastModifiedDate: responseTime,
});

/** The schema of a user in responses to callers of whom some are administrators. */
export const userForAdministrators = v.strictObject({
  ...userResponse.entries,
  lastLogin: v.optional(v.nullable(responseTime)),
  secondFactor: v.optional(v.boolean()),
  state: v.optional(v.picklist(USER_STATES)),
  invitedUntil: v.optional(v.nullable(responseTime)),
  tokensExpire: v.optional(v.nullable(responseTime)),
  managedBy: v.optional(v.string()),
  identities: v.optional(v.array(v.strictObject({ issuer: v.string(), subject: v.string() }))),
});
