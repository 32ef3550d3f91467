import { EDITABLE_USER_FIELDS, type User } from './user.ts';
import { ownAccountChange } from './user-schema.ts';

type Attributes = readonly (keyof User)[];

/** What the condition on the caller names; `sessionEndings` is also how all sessions end. */
const CALLER: Attributes = ['passwordChanges', 'sessionEndings', 'version', 'factorChanges'];
const ADDRESS_CHANGE: Attributes = [
  'email',
  'emailUnproven',
  'lastModifiedBy',
  'lastModifiedDate',
  'version',
];

const DEACTIVATION: Attributes = [
  ...CALLER,
  'activated',
  'lastModifiedBy',
  'lastModifiedDate',
  'securityStamp',
  'tokens',
];

/**
 * The attributes that the updates of a user name, in what they write and in their conditions. A
 * function may name no others (`updateUser` in routes.ts), and could write all that it may name, so
 * no condition names an attribute that its function must not be able to write.
 */
export const USER_UPDATES = {
  logIn: [
    'lastLogin',
    'latestSession',
    'passwordHash',
    'secondFactor',
    'login',
    'passwordChanges',
    'sessionEndings',
  ],
  identityLogIn: [
    'lastLogin',
    'latestSession',
    'passwordChanges',
    'sessionEndings',
    'authorities',
    'lastModifiedBy',
    'lastModifiedDate',
    'version',
  ],
  ownIdentity: [...CALLER, 'identities', 'secondFactor'],
  identities: [...CALLER, 'identities', 'tokens'],
  sessions: [...CALLER, 'tokens'],
  tokens: [...CALLER, 'tokens'],
  address: [...ADDRESS_CHANGE, 'securityStamp'],
  account: [
    ...CALLER,
    ...ADDRESS_CHANGE,
    ...EDITABLE_USER_FIELDS.filter((field) => field in ownAccountChange.entries),
  ],
  user: [
    ...CALLER,
    ...ADDRESS_CHANGE,
    ...EDITABLE_USER_FIELDS,
    'securityStamp',
    'lastLogin',
    'invitedAt',
    'tokens',
  ],
  deactivation: DEACTIVATION,
  activation: [...DEACTIVATION, 'invitedAt'],
  /** Besides what `user` has. */
  plan: ['managedBy'],
  invitation: ['invitedAt', 'version', 'passwordChanges'],
  password: [...CALLER, 'passwordHash', 'securityStamp', 'invitedAt'],
  reset: [
    'passwordHash',
    'passwordChanges',
    'securityStamp',
    'emailUnproven',
    'admittedAt',
    'invitedAt',
    'version',
    'factorChanges',
  ],
  factor: [...CALLER, 'secondFactor', 'pendingFactor'],
  factorRemoval: [...CALLER, 'secondFactor', 'pendingFactor', 'tokens'],
} as const satisfies Readonly<Record<string, Attributes>>;
