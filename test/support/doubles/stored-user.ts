import type { User } from '../../../lib/users/user.ts';

/** An activated user as stored, with other fields. */
export const storedUser = (id: number, login: string, fields: Partial<User> = {}): User => ({
  id,
  login,
  email: `${login}@example.com`,
  activated: true,
  langKey: 'en',
  authorities: ['ROLE_USER'],
  createdBy: 'system',
  createdDate: '2026-01-01T00:00:00.000Z',
  lastModifiedBy: 'system',
  lastModifiedDate: '2026-01-01T00:00:00.000Z',
  version: '3-abc',
  incarnation: `${login}s`,
  securityStamp: 'reset',
  passwordHash: 'hash',
  passwordChanges: 0,
  ...fields,
});
