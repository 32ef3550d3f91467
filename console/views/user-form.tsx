import type { Role, User } from '../api/generated/types.gen.ts';
import type { Editing } from '../components/editing.ts';
import { ChecksField, SelectField, TextField } from '../components/fields.tsx';
import { nameOf, textOf } from '../form.ts';
import { texts } from '../state.ts';
import { languageOptions } from './language-options.ts';
import { roleOptions } from './user-badges.tsx';

export interface UserFields extends Readonly<Record<string, unknown>> {
  readonly login: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly langKey: string;
  readonly authorities: Role[];
}

export type EditingUser = Editing<User, UserFields>;

export const userFieldsOf = (values: FormData): UserFields => ({
  login: nameOf(values, 'login'),
  email: nameOf(values, 'email'),
  firstName: nameOf(values, 'firstName'),
  lastName: nameOf(values, 'lastName'),
  langKey: textOf(values, 'langKey'),
  authorities: values.getAll('authorities').map(String) as Role[],
});

export function UserFormFields({ user }: { user?: Partial<User> }) {
  const t = texts();
  return (
    <>
      <div class="pairs">
        <TextField name="login" label={t.login} hint={t.loginHint} value={user?.login} verbatim />
        <TextField name="email" label={t.email} type="email" value={user?.email} verbatim />
        <TextField name="firstName" label={t.firstName} value={user?.firstName} optional />
        <TextField name="lastName" label={t.lastName} value={user?.lastName} optional />
        <SelectField
          name="langKey"
          label={t.language}
          value={user?.langKey ?? 'en'}
          options={languageOptions(user?.langKey)}
        />
      </div>
      <ChecksField
        name="authorities"
        label={t.roles}
        options={roleOptions()}
        checked={user?.authorities ?? []}
      />
    </>
  );
}
