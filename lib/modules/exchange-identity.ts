import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { type Claims, readAssertion, verifyAssertion } from '../tokens/assertion.ts';
import { type IssuerKey, issuerKeysKey, keysIn } from '../tokens/issuer-keys.ts';
import { type ConfirmedCredential, confirmedCredential, identityOf } from './credential.ts';
import {
  type ExchangedCredential,
  type ExchangeServices,
  issueFor,
  keysOfExchange,
} from './exchange-credential.ts';
import type { ModuleIssuer } from './module-issuer.ts';

/**
 * Exchanges the token of a platform for a token of the module whose credential names exactly its
 * issuer, subject and audience. A platform gives out one token for some minutes, so it can be
 * exchanged repeatedly, but only while it is new.
 *
 * Fails with invalid-grant, with too-many-attempts instead once a source has sent too many that
 * were rejected, and with unavailable.
 */
export async function exchangeIdentity(
  services: ExchangeServices,
  issuers: readonly ModuleIssuer[],
  source: Source,
  { clientId, assertion }: { readonly clientId: string; readonly assertion: string },
): Promise<ExchangedCredential> {
  const { issuer: stated } = readAssertion(assertion);
  const issuer = issuers.find((known) => known.issuer === stated);
  const { items, count } = await services.throttle.begin('MODULES', source, [
    ...keysOfExchange(clientId),
    ...(issuer ? [issuerKeysKey(issuer.issuer)] : []),
  ]);
  const [, , used, keysItem] = items;
  const now = Date.now();
  const credential = confirmedCredential(items, clientId, now);
  try {
    requireIdentity(credential, issuer, { assertion, keys: keysIn(keysItem, now), now });
  } catch (error) {
    await count();
    throw error;
  }
  return issueFor(services, credential, used, now);
}

/** Requires that a token proves the identity of a credential. Fails with invalid-grant. */
function requireIdentity(
  credential: ConfirmedCredential | undefined,
  issuer: ModuleIssuer | undefined,
  { assertion, keys, now }: { assertion: string; keys: readonly IssuerKey[]; now: number },
): asserts credential is ConfirmedCredential {
  const identity = credential && identityOf(credential);
  if (!issuer) throw new Failure('invalid-grant', { reason: 'issuer' });
  if (!identity) throw new Failure('invalid-grant', { reason: 'credential' });
  const { algorithms, ageMinutesMaximum } = issuer;
  const expected = {
    issuer: identity.issuer,
    audience: identity.audience,
    algorithms,
    ageSecondsMax: ageMinutesMaximum * 60,
    reject: ({ sub }: Claims) => (sub === identity.subject ? undefined : 'subject'),
  };
  verifyAssertion(assertion, expected, keys, now);
}
