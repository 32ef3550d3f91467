/**
 * The caller of a request, as stated in its token. The table may have changed since the token was
 * issued.
 */
export interface Caller {
  readonly id: number;
  /**
   * The stamp of the account that the token was issued for; undefined for an account without a
   * stamp.
   */
  readonly accountStamp: string | undefined;
  /** The token's id (RFC 7519, 4.1.7). */
  readonly jti: string;
  /** The number of password changes at the time the token was issued. */
  readonly passwordChanges: number;
}
