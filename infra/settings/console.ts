import { flag } from './setting.ts';

/* The console, which the API serves below /console. */

export const console = flag(
  'Whether the [console](deploying.md#the-console) is deployed. Without it, `mail.linkBase` is ' +
    'required.',
  true,
);

/**
 * The screens of the console that mailed links lead to. No server sees what follows a `#`. A mail
 * fills `{login}`, so that a password manager knows whose password is set.
 */
export const consoleLinks = (url: string) => ({
  linkBase: `${url}/console/set-password#login={login}&key=`,
  confirmLinkBase: `${url}/console/confirm-email#key=`,
});
