import { useEffect, useRef, useState } from 'preact/hooks';
import { TextField } from '../components/fields.tsx';
import { Form } from '../components/form.tsx';
import { KnownLogin, NewPassword } from '../components/password-fields.tsx';
import { Screen } from '../components/screen.tsx';
import { textOf } from '../form.ts';
import { hideFragment } from '../navigation.ts';
import { BASE, type MailedLink } from '../route.ts';
import { endSession, sendPublicly, texts } from '../state.ts';
import { fill } from '../text.ts';

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

/** The last link. It leaves the address at once: its key could be copied or bookmarked. */
function useLink(link: MailedLink): MailedLink {
  const kept = useRef(link);
  if (link.key) kept.current = link;
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

export function SetPassword(properties: { readonly link: MailedLink }) {
  const t = texts();
  const { key, login } = useLink(properties.link);
  const [done, setDone] = useState(false);
  const save = async (values: FormData) => {
    const body = { key: key ?? '', newPassword: textOf(values, 'newPassword') };
    const answer = await sendPublicly('POST /api/account/reset-password/finish', { body });
    if (!answer.ok) return answer.problem;
    // All sessions have ended, also one of this tab.
    endSession();
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
          {login && <p>{fill(t.setPasswordOf, { login })}</p>}
          <Form submit={t.setPassword} onSave={save} texts={{ 'error.http.400': t.keyInvalid }}>
            <KnownLogin login={login} />
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
export function ConfirmEmail(properties: { readonly link: MailedLink }) {
  const t = texts();
  const { key } = useLink(properties.link);
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
