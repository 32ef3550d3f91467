import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Problem } from '../api/request.ts';
import { Alert, Waiting } from '../components/problem.tsx';
import { Screen } from '../components/screen.tsx';
import { navigate, takeQuery } from '../navigation.ts';
import { BASE } from '../route.ts';
import { payloadOf } from '../session.ts';
import { type Begun, exchangeCode, type Issuer, returnOf } from '../sign-in.ts';
import {
  beginSignIn,
  claims,
  knownIssuer,
  loadIssuers,
  proofToLink,
  sendPublicly,
  startSession,
  takeBegun,
  texts,
} from '../state.ts';
import { fill } from '../text.ts';

/** Why the log-in has failed: the sentence, or the problem with what the ID token says. */
type Failed =
  | { readonly text: string }
  | { readonly problem: Problem; readonly identity: Identity };

interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** Where identity providers send browsers back to. */
export function SignIn() {
  const t = texts();
  // Out of the address before anything is loaded: the code could be copied or bookmarked.
  const [{ search, begun }] = useState(() => ({ search: takeQuery(), begun: takeBegun() }));
  const [failed, setFailed] = useState<Failed>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a code can be used once.
  useEffect(() => void finish(search, begun).then(setFailed), []);
  const issuer = knownIssuer(begun?.issuer);
  return (
    <Screen title={t.logIn}>
      {!failed && <Waiting />}
      {failed && 'text' in failed && (
        <div role="alert" class="notice refused">
          <p>{failed.text}</p>
        </div>
      )}
      {failed && 'problem' in failed && <Refused {...failed} />}
      {failed && <WaysBack begun={begun} issuer={issuer} />}
    </Screen>
  );
}

function WaysBack({ begun, issuer }: { begun: Begun | undefined; issuer: Issuer | undefined }) {
  const t = texts();
  const target = begun?.target ?? BASE;
  return (
    <>
      {issuer && (
        <div class="providers">
          <button type="button" onClick={() => void beginSignIn(issuer, target, begun?.linking)}>
            {fill(t.logInWith, { name: issuer.name })}
          </button>
        </div>
      )}
      <p>
        <a href={target}>{begun?.linking ? t.ownAccount : t.backToLogIn}</a>
      </p>
    </>
  );
}

function Refused({
  problem,
  identity,
}: {
  problem: Problem;
  identity: Identity;
}): ComponentChildren {
  const t = texts();
  return (
    <>
      <Alert problem={problem} />
      {problem.message === 'error.unknownidentity' && (
        <>
          <p>{t.signInUnknown}</p>
          <dl>
            <dt>{t.issuer}</dt>
            <dd translate={false}>{identity.issuer}</dd>
            <dt>{t.subject}</dt>
            <dd translate={false}>{identity.subject}</dd>
          </dl>
        </>
      )}
    </>
  );
}

/** Starts the session, or hands the proof to the own account; returns why that failed. */
async function finish(search: string, begun: Begun | undefined): Promise<Failed | undefined> {
  const t = texts();
  const returned = returnOf(search, begun);
  const isOther = begun?.linking !== undefined && begun.linking !== claims.value?.id;
  if (!begun || !returned || isOther) return { text: t.signInUnexpected };
  await loadIssuers();
  const issuer = knownIssuer(begun.issuer);
  if (!issuer) return { text: t.errors['error.network'] };
  const { name } = issuer;
  const answeredBy = (other: string) => ({
    text: fill(t.signInOther, { name, issuer: issuer.issuer, other }),
  });
  if ('other' in returned) return answeredBy(returned.other);
  if ('error' in returned) {
    const { error, description } = returned;
    const text = error === 'access_denied' ? t.signInDenied : t.signInRefused;
    return { text: fill(text, { name, reason: description ?? error }) };
  }
  const assertion = await exchangeCode(issuer, begun, returned.code, location.origin);
  const { iss, sub } = payloadOf(assertion ?? '') ?? {};
  if (!assertion || typeof iss !== 'string') return { text: fill(t.signInNotExchanged, { name }) };
  // Another provider could have answered for the one that was asked.
  if (iss !== issuer.issuer) return answeredBy(iss);
  const { codeVerifier, target, linking } = begun;
  if (linking !== undefined) {
    proofToLink.value = { issuer: issuer.issuer, assertion, codeVerifier };
    await navigate(target, { replace: true });
    return undefined;
  }
  const answer = await sendPublicly('POST /api/oauth2/token', {
    body: { grant_type: JWT_BEARER, assertion, code_verifier: codeVerifier },
  });
  if (!answer.ok) {
    const identity = { issuer: issuer.issuer, subject: String(sub) };
    return { problem: answer.problem, identity };
  }
  startSession(answer.data.access_token);
  await navigate(target, { replace: true });
  return undefined;
}
