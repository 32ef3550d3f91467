import { useState } from 'preact/hooks';
import type { PreviewLogInResponse } from '../api/generated/types.gen.ts';
import type { Problem } from '../api/request.ts';
import { SelectField, TextField } from '../components/fields.tsx';
import { Form } from '../components/form.tsx';
import { Screen } from '../components/screen.tsx';
import { textOf } from '../form.ts';
import { triedOf } from '../preview.ts';
import { BASE, userPath } from '../route.ts';
import { issuers, send, texts } from '../state.ts';
import { RoleBadges } from './user-badges.tsx';

/** Tries the settings of an issuer, before anybody depends on them. */
export function LogInPreview() {
  const t = texts();
  const [result, setResult] = useState<Parameters<typeof Result>[0]>();
  const save = async (values: FormData): Promise<Problem | undefined> => {
    setResult(undefined);
    const tried = triedOf(textOf(values, 'claims'));
    if (!tried) return { status: 0, message: 'claims', fieldErrors: [] };
    const answer = await send('POST /api/issuers/preview', {
      body: { issuer: textOf(values, 'issuer'), ...tried },
    });
    if (!answer.ok) return answer.problem;
    setResult({ ...answer.data, ofToken: 'claims' in tried });
    return undefined;
  };
  return (
    <Screen title={t.preview} above={[`${BASE}/users`, t.users]}>
      <p>{t.previewText}</p>
      <div class="columns">
        <div class="card">
          <Form
            submit={t.previewShow}
            onSave={save}
            texts={{ claims: t.previewUnread, 'error.invalidgrant': t.previewNoGroups }}
          >
            <SelectField
              name="issuer"
              label={t.issuer}
              options={issuers.value.map(({ issuer, name }) => [issuer, name])}
            />
            <TextField name="claims" label={t.claims} hint={t.claimsHint} lines={8} verbatim />
          </Form>
        </div>
        <div role="status">{result && <Result {...result} />}</div>
      </div>
    </Screen>
  );
}

/** Groups alone say which roles they grant, and nothing else. */
function Result(result: PreviewLogInResponse & { readonly ofToken: boolean }) {
  const t = texts();
  const { ofToken, roles, account, created, login, email, secondFactor } = result;
  return (
    <section class="card">
      <h2>{t.previewResult}</h2>
      <dl>
        <dt>{t.roles}</dt>
        <dd>{roles ? <RoleBadges roles={roles} /> : t.previewRolesStay}</dd>
        {ofToken && (
          <>
            <dt>{t.account}</dt>
            <dd>
              {account && <a href={userPath(account)}>{account}</a>}
              {!account && (created ? t.previewCreated : t.previewUnknown)}
            </dd>
            <dt>{t.secondFactor}</dt>
            <dd>{secondFactor ? t.yes : t.no}</dd>
            <dt>{t.previewLogin}</dt>
            <dd translate={false}>{login ?? '–'}</dd>
            <dt>{t.previewEmail}</dt>
            <dd translate={false}>{email ?? '–'}</dd>
          </>
        )}
      </dl>
    </section>
  );
}
