import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { leaving, navigate, path, route } from '../navigation.ts';
import { BASE } from '../route.ts';
import { claimsOf } from '../session.ts';
import {
  account,
  claims,
  endSession,
  enrolling,
  isAdministrator,
  loadAccount,
  managesIntegrations,
  send,
  startSession,
  texts,
  waitingForPassword,
} from '../state.ts';
import { fill } from '../text.ts';
import { Credentials } from '../views/log-in.tsx';
import { Dialog } from './dialog.tsx';
import { Icon, Mark } from './icon.tsx';
import { PaletteButton } from './palette.tsx';
import { Providers } from './providers.tsx';

export function Frame({ children }: { children: ComponentChildren }) {
  const t = texts();
  return (
    <>
      <a class="skip" href="#main">
        {t.skip}
      </a>
      <Bar />
      <div class="page">
        {account.value && !enrolling.value && <Navigation />}
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      {waitingForPassword.value && <AskForPassword />}
      {leaving.value && <AskWhetherToLeave />}
    </>
  );
}

function Bar() {
  const t = texts();
  const own = account.value;
  return (
    <header>
      <a class="product" href={BASE}>
        <Mark />
        Gatehouse
      </a>
      <Environment />
      {own && (
        <span class="own">
          {!enrolling.value && <PaletteButton />}
          <a href={`${BASE}/account`} aria-label={fill(t.loggedInAs, { login: own.login })}>
            <Icon name="account" /> <span translate={false}>{own.login}</span>
          </a>
          <button type="button" class="quiet" onClick={() => void logOut()}>
            {t.logOut}
          </button>
        </span>
      )}
    </header>
  );
}

/** Before the log-in only the host tells environments apart. */
function Environment() {
  const environment = claims.value?.environment ?? location.host;
  const isProduction = environment.startsWith('prod');
  return (
    <span class={isProduction ? 'environment production' : 'environment'} translate={false}>
      {environment}
    </span>
  );
}

/** Ends the session at the service as well; without a connection it is only forgotten here. */
async function logOut(): Promise<void> {
  await navigate(BASE);
  if (location.pathname !== BASE) return;
  // Forgotten before the response: a 401 must not ask for the password of a session that is over.
  void send('POST /api/logout', {});
  endSession();
  // Not after the response: somebody may have logged in again by then.
  await navigate(BASE, { replace: true, say: texts().loggedOut });
}

const FOLDED = 'gatehouse.folded';

function Navigation() {
  const t = texts();
  const [folded, setFolded] = useState(() => localStorage.getItem(FOLDED) === 'true');
  const fold = () => {
    localStorage.setItem(FOLDED, String(!folded));
    setFolded(!folded);
  };
  const items = [
    ['overview', t.overview, isAdministrator()],
    ['users', t.users, true],
    ['integrations', t.integrations, true],
    ['modules', t.modules, managesIntegrations()],
    ['audit', t.auditTrail, isAdministrator()],
    ['account', t.ownAccount, true],
    ['about', t.about, true],
  ] as const;
  return (
    <nav aria-label={t.navigation} class={folded ? 'folded' : undefined}>
      <ul>
        {items
          .filter(([, , offered]) => offered)
          .map(([folder, label]) => (
            <li key={folder}>
              <a
                href={folder === 'overview' ? BASE : `${BASE}/${folder}`}
                aria-current={currentOf(folder)}
                title={folded ? label : undefined}
              >
                <Icon name={folder} />
                <span>{label}</span>
              </a>
            </li>
          ))}
        <li>
          <button type="button" class="fold" aria-pressed={folded} onClick={fold}>
            <Icon name="fold" />
            <span>{t.foldMenu}</span>
          </button>
        </li>
      </ul>
    </nav>
  );
}

function currentOf(folder: string): 'page' | 'true' | undefined {
  if (folder === 'overview') return route.value.screen === 'home' ? 'page' : undefined;
  if (path.value === `${BASE}/${folder}`) return 'page';
  return path.value.startsWith(`${BASE}/${folder}/`) ? 'true' : undefined;
}

/** The session has ended while something was under way, which goes on afterwards. */
function AskForPassword() {
  const t = texts();
  const goOn = (newToken: string) => {
    // Another user must not send what waits.
    const isSame = claimsOf(newToken)?.id === claims.value?.id;
    startSession(newToken);
    waitingForPassword.value?.(isSame);
    if (isSame) void loadAccount();
  };
  // What waits is then refused and keeps what was typed; the next attempt asks again.
  const refuse = () => waitingForPassword.value?.(false);
  const forget = () => {
    endSession();
    refuse();
  };
  // The account has been renamed since, perhaps.
  const login = account.value?.login ?? claims.value?.login ?? '';
  return (
    <Dialog title={t.sessionEnded} onClose={refuse}>
      <p>{fill(t.sessionEndedText, { login })}</p>
      <Credentials submit={t.goOn} login={login} onToken={goOn} />
      <Providers />
      <p>
        <button type="button" onClick={forget}>
          {t.logOut}
        </button>
      </p>
    </Dialog>
  );
}

function AskWhetherToLeave() {
  const t = texts();
  const answer = (leave: boolean) => leaving.value?.(leave);
  return (
    <Dialog title={t.unsavedTitle} onClose={() => answer(false)}>
      <p>{t.unsavedText}</p>
      <p class="actions">
        <button type="button" class="primary" onClick={() => answer(false)}>
          {t.stay}
        </button>
        <button type="button" onClick={() => answer(true)}>
          {t.leave}
        </button>
      </p>
    </Dialog>
  );
}
