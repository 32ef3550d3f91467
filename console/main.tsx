import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Problem } from './api/request.ts';
import { Frame } from './components/frame.tsx';
import { Alert, Waiting } from './components/problem.tsx';
import { keepFocus } from './focus.ts';
import { route, startNavigation } from './navigation.ts';
import { account, claims, loadAccount, loadIssuers, loadLanguage, token } from './state.ts';
import { LogIn } from './views/log-in.tsx';
import { ConfirmEmail, ForgottenPassword, SetPassword } from './views/mailed-links.tsx';
import { SignIn } from './views/sign-in.tsx';

type SignedIn = typeof import('./signed-in.tsx')['SignedIn'];

/** The screens without a log-in are loaded first, the others with the first one that needs them. */
function Console() {
  const current = route.value;
  switch (current.screen) {
    case 'forgotten-password':
      return <ForgottenPassword />;
    case 'sign-in':
      return <SignIn />;
    case 'set-password':
      return <SetPassword link={current.link} />;
    case 'confirm-email':
      return <ConfirmEmail link={current.link} />;
    default:
      return token.value ? <WithAccount key={claims.value?.id} /> : <LogIn />;
  }
}

/**
 * Whether the page was reloaded because the other screens were missing: a deployment has replaced
 * their files. Not endlessly: they can be missing for another reason.
 */
const RELOADED = 'gatehouse.reloaded';

function WithAccount() {
  // In an object: the setter would call a component as an update.
  const [Screens, setScreens] = useState<{ readonly component: SignedIn }>();
  const [problem, setProblem] = useState<Problem>();
  const load = async () => {
    setProblem(undefined);
    const [answer, module] = await Promise.all([
      account.value ? undefined : loadAccount(),
      import('./signed-in.tsx').catch(() => undefined),
    ]);
    if (answer && !answer.ok) setProblem(answer.problem);
    else if (module) setScreens({ component: module.SignedIn });
    else if (!sessionStorage.getItem(RELOADED)) {
      sessionStorage.setItem(RELOADED, 'true');
      location.reload();
      return;
    } else setProblem({ status: 0, message: 'error.network', fieldErrors: [] });
    sessionStorage.removeItem(RELOADED);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: loads once.
  useEffect(() => void load(), []);
  if (problem) return <Alert problem={problem} onRetry={() => void load()} />;
  return Screens && account.value ? <Screens.component /> : <Waiting />;
}

async function start(): Promise<void> {
  const root = document.getElementById('console');
  if (!root) return;
  startNavigation();
  keepFocus(root);
  // Begins before it is needed: it arrives with the texts.
  if (token.value) void import('./signed-in.tsx').catch(() => undefined);
  void loadIssuers();
  await loadLanguage();
  render(
    <Frame>
      <Console />
    </Frame>,
    root,
  );
}

void start();
