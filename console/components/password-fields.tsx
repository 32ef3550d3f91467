import { texts } from '../state.ts';
import { TextField } from './form.tsx';

export const CurrentPassword = () => (
  <TextField
    name="currentPassword"
    label={texts().currentPassword}
    type="password"
    autocomplete="current-password"
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
