import { useState } from 'preact/hooks';
import { Confirm } from '../components/confirm.tsx';
import { Dialog } from '../components/dialog.tsx';
import { SelectField, TextField } from '../components/fields.tsx';
import { Form, type Save } from '../components/form.tsx';
import { Badge } from '../components/icon.tsx';
import { CodeField, CurrentPassword, KnownLogin } from '../components/password-fields.tsx';
import { nameOf, textOf } from '../form.ts';
import { BASE } from '../route.ts';
import {
  account,
  beginSignIn,
  claims,
  issuerName,
  issuers,
  loadAccount,
  notice,
  proofToLink,
  send,
  texts,
} from '../state.ts';
import { fill } from '../text.ts';
import type { EditingUser } from './user-form.tsx';

/** With which identity providers the own account can be used. */
export function OwnIdentities() {
  const t = texts();
  const linked = account.value?.identities ?? [];
  if (issuers.value.length === 0) return null;
  return (
    <section class="card">
      <h2>{t.identities}</h2>
      <ul class="rows">
        {issuers.value.map((issuer) => (
          <li key={issuer.issuer}>
            <span translate={false}>{issuer.name}</span>
            {linked.includes(issuer.issuer) ? (
              <Badge tone="good" icon="check" text={t.linkedState} />
            ) : (
              <button
                type="button"
                aria-label={fill(t.linkWith, { name: issuer.name })}
                onClick={() => void beginSignIn(issuer, `${BASE}/account`, claims.value?.id)}
              >
                {t.link}
              </button>
            )}
          </li>
        ))}
      </ul>
      {proofToLink.value && <LinkOwn {...proofToLink.value} />}
    </section>
  );
}

/** Asks for the password, after the provider has sent the browser back. */
function LinkOwn({ issuer, assertion, codeVerifier }: NonNullable<typeof proofToLink.value>) {
  const t = texts();
  const name = issuerName(issuer);
  const close = () => {
    proofToLink.value = undefined;
  };
  const save: Save = async (values) => {
    const answer = await send('POST /api/account/identities', {
      body: {
        assertion,
        codeVerifier,
        currentPassword: textOf(values, 'currentPassword'),
        code: nameOf(values, 'code'),
      },
    });
    if (!answer.ok) return answer.problem;
    await loadAccount();
    notice.value = fill(t.linkedNow, { name });
    close();
    return undefined;
  };
  return (
    <Dialog title={fill(t.linkWith, { name })} onClose={close}>
      <p>{t.linkOwnText}</p>
      <Form submit={t.link} onSave={save} onClose={close}>
        <KnownLogin login={account.value?.login} />
        <CurrentPassword />
        {account.value?.secondFactor && <CodeField />}
      </Form>
    </Dialog>
  );
}

interface Properties {
  readonly editing: EditingUser;
  readonly onSessionsEnded: () => void;
}

/** The identities of a user. Users link their own on the page of their account, with the password. */
export function UserIdentities({ editing, onSessionsEnded }: Properties) {
  const t = texts();
  const { login, identities = [] } = editing.current.data;
  if (issuers.value.length + identities.length === 0) return null;
  const unlink = async (issuer: string) => {
    const path = { login };
    const answer = await send('POST /api/users/{login}/identities/delete', {
      path,
      body: { issuer },
    });
    if (!answer.ok) return answer.problem;
    notice.value = t.unlinked;
    onSessionsEnded();
    await editing.refresh();
    return undefined;
  };
  const others = issuers.value.filter(({ issuer }) =>
    identities.every((linked) => linked.issuer !== issuer),
  );
  return (
    <section class="card">
      <h2>{t.identities}</h2>
      <ul class="rows">
        {identities.length === 0 && <li>{t.noIdentities}</li>}
        {identities.map(({ issuer, subject }) => (
          <li key={issuer}>
            <span translate={false}>
              {issuerName(issuer)} <span class="hint">{subject}</span>
            </span>
            <Confirm
              action={fill(t.unlinkFrom, { login, name: issuerName(issuer) })}
              short={t.unlink}
              onConfirm={() => unlink(issuer)}
              danger
            >
              <p>{t.unlinkText}</p>
            </Confirm>
          </li>
        ))}
      </ul>
      {others.length > 0 && login !== account.value?.login && (
        <Link
          login={login}
          options={others.map(({ issuer, name }) => [issuer, name])}
          onLinked={editing.refresh}
        />
      )}
    </section>
  );
}

interface LinkProperties {
  readonly login: string;
  readonly options: readonly (readonly [issuer: string, name: string])[];
  readonly onLinked: () => Promise<void>;
}

function Link({ login, options, onLinked }: LinkProperties) {
  const t = texts();
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  const save: Save = async (values) => {
    const identity = { issuer: textOf(values, 'issuer'), subject: nameOf(values, 'subject') };
    const answer = await send('POST /api/users/{login}/identities', {
      path: { login },
      body: identity,
    });
    if (!answer.ok) return answer.problem;
    notice.value = fill(t.linkedNow, { name: issuerName(identity.issuer) });
    close();
    await onLinked();
    return undefined;
  };
  const action = fill(t.linkUser, { login });
  return (
    <>
      <p>
        <button type="button" aria-label={action} onClick={() => setOpen(true)}>
          {t.link}
        </button>
      </p>
      {open && (
        <Dialog title={action} onClose={close}>
          <Form submit={t.link} onSave={save} onClose={close}>
            <SelectField name="issuer" label={t.issuer} options={options} />
            <TextField name="subject" label={t.subject} hint={t.subjectHint} verbatim />
          </Form>
        </Dialog>
      )}
    </>
  );
}
