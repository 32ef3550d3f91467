import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Problem } from '../api/request.ts';
import { SelectField, TextField } from '../components/fields.tsx';
import { Form, type Save } from '../components/form.tsx';
import { CurrentPassword, KnownLogin, NewPassword } from '../components/password-fields.tsx';
import { focusHeading, Screen } from '../components/screen.tsx';
import { Sessions } from '../components/sessions.tsx';
import { changesOf } from '../conflict.ts';
import { dropDraft } from '../drafts.ts';
import { keepingUnedited, nameOf, textOf } from '../form.ts';
import { navigate, path } from '../navigation.ts';
import { BASE } from '../route.ts';
import { account, enrolling, loadAccount, notice, send, texts } from '../state.ts';
import { OwnIdentities } from './identities.tsx';
import { languageOptions } from './language-options.ts';

export function AccountScreen({ title, children }: { title: string; children: ComponentChildren }) {
  const t = texts();
  const pages = [
    ['account', t.profile],
    ['account/password', t.changePassword],
    ['account/sessions', t.sessions],
    ['account/tokens', t.apiTokens],
    ['account/second-factor', t.secondFactor],
  ] as const;
  return (
    <Screen title={title}>
      {!enrolling.value && (
        <nav aria-label={t.ownAccount} class="pager">
          <ul>
            {pages.map(([page, label]) => (
              <li key={page}>
                <a
                  href={`${BASE}/${page}`}
                  aria-current={path.value === `${BASE}/${page}` ? 'page' : undefined}
                >
                  {label}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      )}
      {children}
    </Screen>
  );
}

export function Profile() {
  const t = texts();
  const own = account.value;
  const [formKey, setFormKey] = useState(0);
  const save: Save = async (values, edited) => {
    notice.value = edited.size === 0 ? t.nothingChanged : '';
    if (edited.size === 0) return undefined;
    const fields = {
      firstName: nameOf(values, 'firstName'),
      lastName: nameOf(values, 'lastName'),
      email: nameOf(values, 'email'),
      langKey: textOf(values, 'langKey'),
    };
    const body = changesOf(own ?? {}, keepingUnedited(fields, { ...own }, edited));
    const answer = await send('POST /api/account', { body });
    if (!answer.ok) return answer.problem;
    await loadAccount();
    const asked = answer.alert === 'userManagement.confirmationRequested';
    // In the language that may just have been chosen.
    notice.value = asked ? texts().confirmationSent : texts().saved;
    if (asked) {
      // The field would show the new address as if it were stored.
      dropDraft('account');
      setFormKey(formKey + 1);
      focusHeading();
    }
    return undefined;
  };
  return (
    <AccountScreen title={t.ownAccount}>
      <Form key={formKey} submit={t.save} onSave={save} draft={{ name: 'account' }}>
        <div class="pairs">
          <TextField
            name="firstName"
            label={t.firstName}
            value={own?.firstName}
            autocomplete="given-name"
            optional
          />
          <TextField
            name="lastName"
            label={t.lastName}
            value={own?.lastName}
            autocomplete="family-name"
            optional
          />
          <TextField
            name="email"
            label={t.email}
            type="email"
            value={own?.email}
            autocomplete="email"
            verbatim
          />
          <SelectField
            name="langKey"
            label={t.language}
            value={own?.langKey}
            options={languageOptions(own?.langKey)}
          />
        </div>
      </Form>
      <OwnIdentities />
    </AccountScreen>
  );
}

export function Password() {
  const t = texts();
  const [tokensLeft, setTokensLeft] = useState(false);
  const save = async (values: FormData): Promise<Problem | undefined> => {
    const answer = await send('POST /api/account/change-password', {
      body: {
        currentPassword: textOf(values, 'currentPassword'),
        newPassword: textOf(values, 'newPassword'),
      },
    });
    if (!answer.ok) return answer.problem;
    const tokens = await send('GET /api/account/tokens', {});
    if (tokens.ok && tokens.data.length > 0) {
      notice.value = t.passwordChanged;
      setTokensLeft(true);
      focusHeading();
    } else await navigate(`${BASE}/account`, { saved: true, say: t.passwordChanged });
    return undefined;
  };
  if (tokensLeft)
    return (
      <AccountScreen title={t.changePassword}>
        <p class="notice">
          {t.tokensLeft} <a href={`${BASE}/account/tokens`}>{t.apiTokens}</a>
        </p>
      </AccountScreen>
    );
  return (
    <AccountScreen title={t.changePassword}>
      <Form submit={t.changePassword} onSave={save}>
        <KnownLogin login={account.value?.login} />
        <CurrentPassword />
        <NewPassword />
      </Form>
    </AccountScreen>
  );
}

export function OwnSessions() {
  const t = texts();
  return (
    <AccountScreen title={t.sessions}>
      <p>{t.sessionsText}</p>
      <Sessions
        load={() => send('GET /api/account/sessions', {})}
        end={(series) => send('POST /api/account/sessions/{series}/end', { path: { series } })}
        endOthers={() => send('POST /api/account/end-other-sessions', {})}
      />
    </AccountScreen>
  );
}

/** The day from which on a second factor is required, as long as it is off. */
export function useNoticeOfFactor(): string | undefined {
  const [today] = useState(() => new Date().toISOString().slice(0, 10));
  const own = account.value;
  if (!own || own.secondFactor || !own.secondFactorRequiredFrom) return undefined;
  return own.secondFactorRequiredFrom > today ? own.secondFactorRequiredFrom : undefined;
}
