import { texts } from '../state.ts';
import { TextField } from './fields.tsx';

/** Tells a password manager whose password a form is about. */
export const KnownLogin = ({ login }: { login: string | undefined }) => (
  <input type="text" name="username" autocomplete="username" value={login} readOnly hidden />
);

export const CurrentPassword = () => (
  <TextField
    name="currentPassword"
    label={texts().currentPassword}
    type="password"
    autocomplete="current-password"
  />
);

interface CodeProperties {
  readonly hint?: string;
  readonly focused?: boolean;
}

export const CodeField = ({ hint = texts().codeHint, focused = false }: CodeProperties) => (
  <TextField
    name="code"
    label={texts().code}
    hint={hint}
    autocomplete="one-time-code"
    verbatim
    focused={focused}
  />
);

export const NewPassword = () => (
  <TextField
    name="newPassword"
    label={texts().newPassword}
    hint={texts().newPasswordHint}
    type="password"
    autocomplete="new-password"
  />
);
