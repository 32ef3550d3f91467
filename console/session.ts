export interface Claims {
  /** The id of the user, which stays when the account is renamed. */
  readonly id: string;
  readonly login: string;
  readonly environment: string;
}

/** What the token says. The service verifies it; the console only shows it. */
export function claimsOf(token: string): Claims | undefined {
  try {
    const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
    const { iss, sub, preferred_username } = JSON.parse(new TextDecoder().decode(bytes));
    return {
      id: String(sub),
      login: String(preferred_username),
      environment: String(iss).replace(/^gatehouse-/, ''),
    };
  } catch {
    return undefined;
  }
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
