/** A platform with whose tokens modules authenticate themselves, as the settings state it. */
export interface ModuleIssuer {
  /** The `iss` claim of its tokens. */
  readonly issuer: string;
  /** The `aud` claim of tokens for this service, unless a credential names another one. */
  readonly audience: string;
  /** The URL of its JWK Set. */
  readonly keys: string;
  readonly algorithms: readonly string[];
  /** How long ago a token may have been issued. */
  readonly ageMinutesMaximum: number;
}

/** The platforms of the stack. */
export const openModuleIssuers = (): readonly ModuleIssuer[] =>
  JSON.parse(process.env.MODULE_ISSUERS ?? '[]');
