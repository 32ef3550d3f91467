import { useEffect, useState } from 'preact/hooks';
import type { RequestSecondFactorResponse } from '../api/generated/types.gen.ts';
import type { Problem } from '../api/request.ts';
import { Form } from '../components/form.tsx';
import { Copy } from '../components/parts.tsx';
import { CodeField, CurrentPassword } from '../components/password-fields.tsx';
import { focusHeading } from '../components/screen.tsx';
import { textOf } from '../form.ts';
import { navigate, watchUnsaved } from '../navigation.ts';
import { qrPath } from '../qr.ts';
import { BASE } from '../route.ts';
import {
  account,
  claims,
  enrolling,
  language,
  loadAccount,
  notice,
  send,
  texts,
} from '../state.ts';
import { day, fill, plural } from '../text.ts';
import { AccountScreen, useNoticeOfFactor } from './account.tsx';

/** Turning the second factor on and off. Recovery codes are shown once, until they are kept. */
export function SecondFactor() {
  const t = texts();
  const [codes, setCodes] = useState<readonly string[]>();
  const from = useNoticeOfFactor();
  if (codes)
    return (
      <AccountScreen title={t.recoveryCodes}>
        <RecoveryCodes codes={codes} onKept={() => setCodes(undefined)} />
      </AccountScreen>
    );
  return (
    <AccountScreen title={t.secondFactor}>
      {enrolling.value && <p class="notice refused">{t.factorRequired}</p>}
      {from && (
        <p class="notice">{fill(t.factorRequiredFrom, { day: day(language.value, from) })}</p>
      )}
      {account.value?.secondFactor ? (
        <FactorOn onCodes={setCodes} />
      ) : (
        <FactorOff onCodes={setCodes} />
      )}
    </AccountScreen>
  );
}

interface Properties {
  readonly onCodes: (codes: readonly string[]) => void;
}

function FactorOff({ onCodes }: Properties) {
  const t = texts();
  const [requested, setRequested] = useState<RequestSecondFactorResponse>();
  const [expired, setExpired] = useState(false);
  const request = async (values: FormData): Promise<Problem | undefined> => {
    const body = { currentPassword: textOf(values, 'currentPassword') };
    const answer = await send('POST /api/account/second-factor', { body });
    if (!answer.ok) return answer.problem;
    notice.value = '';
    setExpired(false);
    setRequested(answer.data);
    return undefined;
  };
  const confirm = async (values: FormData): Promise<Problem | undefined> => {
    const body = { code: textOf(values, 'code') };
    const answer = await send('POST /api/account/second-factor/confirm', { body });
    if (!answer.ok && answer.problem.message === 'error.secondfactoroff') {
      setRequested(undefined);
      setExpired(true);
      focusHeading();
      return undefined;
    }
    if (!answer.ok) return answer.problem;
    // A required factor is turned on at any address, whose own screen would replace the codes.
    await navigate(`${BASE}/account/second-factor`, { replace: true });
    onCodes(answer.data.recoveryCodes);
    await loadAccount();
    return undefined;
  };
  if (requested)
    return (
      <>
        <p>{t.factorScan}</p>
        <QrCode uri={requested.uri} />
        <p>
          {t.secret}: <code>{requested.secret.replace(/(.{4})(?=.)/g, '$1 ')}</code>{' '}
          <Copy text={requested.secret} label={t.secret} />
        </p>
        <Form key="confirm" submit={t.factorConfirm} onSave={confirm}>
          <CodeField hint={t.factorConfirmHint} focused />
        </Form>
      </>
    );
  return (
    <>
      {expired && (
        <div role="alert" class="notice refused">
          <p>{t.factorExpired}</p>
        </div>
      )}
      <p>{t.factorOff}</p>
      <Form key="request" submit={t.factorStart} onSave={request}>
        <CurrentPassword />
      </Form>
    </>
  );
}

function QrCode({ uri }: { uri: string }) {
  const { path, size } = qrPath(uri);
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={texts().factorQr}>
      <path d={path} />
    </svg>
  );
}

function FactorOn({ onCodes }: Properties) {
  const t = texts();
  const left = account.value?.recoveryCodesLeft ?? 0;
  const proof = (values: FormData) => ({
    body: {
      currentPassword: textOf(values, 'currentPassword'),
      code: textOf(values, 'code'),
    },
  });
  const replace = async (values: FormData): Promise<Problem | undefined> => {
    const answer = await send('POST /api/account/second-factor/recovery-codes', proof(values));
    if (!answer.ok) return answer.problem;
    onCodes(answer.data.recoveryCodes);
    await loadAccount();
    return undefined;
  };
  const disable = async (values: FormData): Promise<Problem | undefined> => {
    const answer = await send('POST /api/account/second-factor/disable', proof(values));
    if (!answer.ok) return answer.problem;
    notice.value = t.factorDisabled;
    await loadAccount();
    return undefined;
  };
  return (
    <>
      <p>
        {t.factorOn} {plural(language.value, t.recoveryLeft, left)}
      </p>
      <h2>{t.recoveryNew}</h2>
      <p>{t.recoveryNewText}</p>
      <Form submit={t.recoveryNew} onSave={replace}>
        <Proof />
      </Form>
      <h2>{t.factorDisable}</h2>
      <Form submit={t.factorDisable} onSave={disable} danger>
        <Proof />
      </Form>
    </>
  );
}

const Proof = () => (
  <>
    <CurrentPassword />
    <CodeField />
  </>
);

function RecoveryCodes({ codes, onKept }: { codes: readonly string[]; onKept: () => void }) {
  const t = texts();
  useEffect(() => watchUnsaved(() => true), []);
  const owner = fill(t.recoveryOf, {
    login: account.value?.login,
    environment: claims.value?.environment,
  });
  return (
    <>
      <p>{t.recoveryText}</p>
      <p>{owner}</p>
      <ul class="codes" translate={false}>
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <p class="actions">
        <Copy text={[owner, ...codes].join('\n')} label={t.recoveryCodes} />
        <button type="button" onClick={() => print()}>
          {t.print}
        </button>
        <button type="button" class="primary" onClick={onKept}>
          {t.recoveryDone}
        </button>
      </p>
    </>
  );
}
