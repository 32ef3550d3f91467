import type { Role } from './contract.ts';

/** Who makes a request, by its token. The table may say otherwise meanwhile. */
export interface Caller {
  readonly id: number;
  readonly roles: readonly Role[];
  /** The stamp of the account that the token was issued to; undefined for an account without one. */
  readonly accountStamp: string | undefined;
  /** The token's own id. */
  readonly jti: string;
  /** How often the password had changed when the token was issued. */
  readonly passwordChanges: number;
}
