export interface Claims {
  /** The id of the user, which stays when the account is renamed. */
  readonly id: string;
  readonly login: string;
  readonly environment: string;
}

/** The payload of a JWT. The service verifies it; the console only shows it. */
export function payloadOf(token: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function claimsOf(token: string): Claims | undefined {
  const claims = payloadOf(token);
  return (
    claims && {
      id: String(claims.sub),
      login: String(claims.preferred_username),
      environment: String(claims.iss).replace(/^gatehouse-/, ''),
    }
  );
}

/** Whether the user must turn on a second factor before anything else. */
export function mustEnrol(
  account: { secondFactor?: boolean; secondFactorRequiredFrom?: string | null },
  now: Date,
): boolean {
  const { secondFactor, secondFactorRequiredFrom } = account;
  if (secondFactor || !secondFactorRequiredFrom) return false;
  return secondFactorRequiredFrom <= now.toISOString().slice(0, 10);
}
