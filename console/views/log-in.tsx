import { useRef, useState } from 'preact/hooks';
import type { Problem } from '../api/request.ts';
import { CheckField, TextField } from '../components/fields.tsx';
import { Form } from '../components/form.tsx';
import { Mark } from '../components/icon.tsx';
import { CodeField } from '../components/password-fields.tsx';
import { Providers } from '../components/providers.tsx';
import { Screen } from '../components/screen.tsx';
import { nameOf, textOf } from '../form.ts';
import { BASE } from '../route.ts';
import { issuers, sendPublicly, startSession, texts } from '../state.ts';

/** Asks for login and password, and for the code only once the service has asked for it. */
export function LogIn() {
  const t = texts();
  return (
    <Screen title={t.logIn}>
      <p class="welcome">
        <Mark />
        {t.welcome}
      </p>
      {issuers.value.every(({ passwords }) => passwords) ? (
        <>
          <PasswordLogIn />
          <Providers />
        </>
      ) : (
        <>
          <Providers areOnlyWay />
          <details class="emergency">
            <summary>{t.emergencyLogIn}</summary>
            <PasswordLogIn />
          </details>
        </>
      )}
    </Screen>
  );
}

function PasswordLogIn() {
  const t = texts();
  return (
    <>
      <Credentials submit={t.logIn} onToken={startSession} />
      <p>
        <a href={`${BASE}/forgotten-password`}>{t.forgotten}</a>
      </p>
    </>
  );
}

interface Properties {
  readonly submit: string;
  readonly onToken: (token: string) => void;
  /** The login if it is known. It can be changed: somebody may have renamed the account. */
  readonly login?: string;
}

export function Credentials({ submit, onToken, login }: Properties) {
  const t = texts();
  const [needsCode, setNeedsCode] = useState(false);
  const tried = useRef(false);
  const save = async (values: FormData): Promise<Problem | undefined> => {
    const code = textOf(values, 'code');
    const answer = await sendPublicly('POST /api/authenticate', {
      body: {
        username: nameOf(values, 'username'),
        password: textOf(values, 'password'),
        code,
        rememberMe: values.has('rememberMe'),
      },
    });
    if (answer.ok) {
      onToken(answer.data.id_token);
      return undefined;
    }
    const { problem } = answer;
    if (problem.message !== 'error.coderequired') return problem;
    setNeedsCode(true);
    // The first time this is a question, not an error.
    const isQuestion = !tried.current;
    tried.current = true;
    return isQuestion ? undefined : problem;
  };
  return (
    <Form submit={submit} onSave={save} texts={{ 'error.http.401': t.wrongCredentials }}>
      <TextField name="username" label={t.login} value={login} autocomplete="username" verbatim />
      <TextField
        name="password"
        label={t.password}
        type="password"
        autocomplete="current-password"
        focused={login !== undefined}
      />
      <div role="status">{needsCode && <p class="notice">{t.errors['error.coderequired']}</p>}</div>
      {needsCode && <CodeField focused />}
      {login === undefined && (
        <CheckField name="rememberMe" label={t.remember} hint={t.rememberHint} />
      )}
    </Form>
  );
}
