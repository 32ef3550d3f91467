import { useEffect, useRef, useState } from 'preact/hooks';
import { Form, TextField } from '../components/form.tsx';
import { NewPassword } from '../components/password-fields.tsx';
import { Screen } from '../components/screen.tsx';
import { textOf } from '../form.ts';
import { hideFragment } from '../navigation.ts';
import { BASE } from '../route.ts';
import { sendPublicly, startSession, texts } from '../state.ts';

/* The screens of a forgotten password, and those that links in mails lead to. */

export function ForgottenPassword() {
  const t = texts();
  const [sent, setSent] = useState(false);
  const save = async (values: FormData) => {
    const body = { email: textOf(values, 'email') };
    const answer = await sendPublicly('POST /api/account/reset-password/init', { body });
    setSent(answer.ok);
    return answer.ok ? undefined : answer.problem;
  };
  return (
    <Screen title={t.resetTitle}>
      <div role="status">{sent && <p class="notice done">{t.resetSent}</p>}</div>
      {!sent && (
        <>
          <p>{t.resetText}</p>
          <Form submit={t.resetSend} onSave={save}>
            <TextField name="email" label={t.email} type="email" autocomplete="email" verbatim />
          </Form>
        </>
      )}
      <BackToLogIn />
    </Screen>
  );
}

const BackToLogIn = () => (
  <p>
    <a href={BASE}>{texts().backToLogIn}</a>
  </p>
);

/** The key of the last link. It leaves the address at once: it could be copied or bookmarked. */
function useKey(key: string | undefined): string | undefined {
  const kept = useRef(key);
  if (key) kept.current = key;
  useEffect(() => {
    if (location.hash) hideFragment();
  });
  return kept.current;
}

function KeyMissing() {
  const t = texts();
  return (
    <>
      <p class="notice refused">{t.keyMissing}</p>
      <p>
        <a href={`${BASE}/forgotten-password`}>{t.keyAgain}</a>
      </p>
    </>
  );
}

export function SetPassword(properties: { readonly keyOfLink: string | undefined }) {
  const t = texts();
  const key = useKey(properties.keyOfLink);
  const [done, setDone] = useState(false);
  const save = async (values: FormData) => {
    const body = { key: key ?? '', newPassword: textOf(values, 'newPassword') };
    const answer = await sendPublicly('POST /api/account/reset-password/finish', { body });
    if (!answer.ok) return answer.problem;
    // All sessions have ended, also one of this tab.
    startSession(undefined);
    setDone(true);
    return undefined;
  };
  return (
    <Screen title={t.setPassword}>
      <div role="status">{done && <p class="notice done">{t.passwordSet}</p>}</div>
      {done && (
        <p>
          <a href={BASE}>{t.logIn}</a>
        </p>
      )}
      {!done && !key && <KeyMissing />}
      {!done && key && (
        <>
          <Form submit={t.setPassword} onSave={save} texts={{ 'error.http.400': t.keyInvalid }}>
            <NewPassword />
          </Form>
          <p>
            <a href={`${BASE}/forgotten-password`}>{t.keyAgain}</a>
          </p>
        </>
      )}
    </Screen>
  );
}

/** Waits for a click: programs that scan mail open its links. */
export function ConfirmEmail(properties: { readonly keyOfLink: string | undefined }) {
  const t = texts();
  const key = useKey(properties.keyOfLink);
  const [done, setDone] = useState(false);
  const save = async () => {
    const answer = await sendPublicly('POST /api/account/confirm-email', {
      body: { key: key ?? '' },
    });
    setDone(answer.ok);
    return answer.ok ? undefined : answer.problem;
  };
  return (
    <Screen title={t.confirmEmail}>
      <div role="status">{done && <p class="notice done">{t.emailConfirmed}</p>}</div>
      {!done && !key && <p class="notice refused">{t.keyMissing}</p>}
      {!done && key && (
        <Form
          submit={t.confirmEmailAction}
          onSave={save}
          texts={{ 'error.http.400': t.keyInvalid }}
        >
          <p>{t.confirmEmailText}</p>
        </Form>
      )}
      <BackToLogIn />
    </Screen>
  );
}
