import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { verifyIdToken } from '../identities/id-token.ts';
import { type Issuer, openIssuers } from '../identities/issuer.ts';
import { linked } from '../identities/link-identity.ts';
import type { Table } from '../table/table.ts';
import { attemptBy } from '../throttle/login-throttle.ts';
import { assertionUsed, readAssertion } from '../tokens/assertion.ts';
import { issuerKeysKey, keysIn } from '../tokens/issuer-keys.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { openProof, type Proof, type ProofServices, proveOwner } from './owner-proof.ts';

interface Services extends ProofServices {
  readonly issuers: readonly Issuer[];
}

/** Opens what users need to link their own account. */
export const openLinking = (table: Table): Services => ({
  issuers: openIssuers(),
  ...openProof(table),
});

/** An ID token, and the proof of who links it. */
interface Link extends Proof {
  readonly assertion: string;
  readonly codeVerifier: string;
}

/**
 * Links the caller's account with the identity in an ID token, on proof of the password, and of a
 * code if the caller has a second factor; notifies the caller by mail. Fails with invalid-grant,
 * wrong-password, wrong-code, identity-taken, and with too-many-attempts under the same limits as a
 * login.
 */
export async function linkOwnIdentity(
  { issuers, throttle, ...services }: Services,
  caller: AuthorizedCaller,
  source: Source,
  { assertion, codeVerifier, ...proof }: Link,
): Promise<void> {
  const user = await caller.findUser();
  const unverified = readAssertion(assertion);
  const issuer = issuers.find((known) => known.issuer === unverified.issuer);
  if (!issuer) throw new Failure('invalid-grant', { reason: 'issuer' });
  const identity = { issuer: issuer.issuer, subject: unverified.subject };
  await throttle.attempt(
    { ...attemptBy(caller, user, source), alsoRead: [issuerKeysKey(issuer.issuer)] },
    {
      load: async ([keysItem]) => keysIn(keysItem, Date.now()),
      async verify(keys) {
        const proven = await proveOwner(services, user, proof);
        if ('failure' in proven) return proven;
        verifyIdToken(assertion, issuer, keys, codeVerifier, Date.now());
        return (clearFailures) =>
          caller.change({
            decide({ callerUser, now }) {
              const secondFactor = proven.spend(callerUser, now);
              const spent = secondFactor && { secondFactor };
              const { writes, ...decision } = linked(callerUser, identity, now, spent);
              return {
                ...decision,
                writes: [assertionUsed(unverified, now), ...writes, ...clearFailures(now)],
              };
            },
          });
      },
    },
  );
}
