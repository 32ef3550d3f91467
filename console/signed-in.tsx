import { useEffect } from 'preact/hooks';
import { Screen } from './components/screen.tsx';
import { navigate, route } from './navigation.ts';
import { BASE } from './route.ts';
import { enrolling, isAdministrator, managesIntegrations, texts } from './state.ts';
import { About } from './views/about.tsx';
import { OwnSessions, Password, Profile } from './views/account.tsx';
import { Audit } from './views/audit.tsx';
import { Integration } from './views/integration.tsx';
import { Integrations, NewIntegration } from './views/integrations.tsx';
import { LogInPreview } from './views/log-in-preview.tsx';
import { Modules } from './views/modules.tsx';
import { NewUser } from './views/new-user.tsx';
import { Overview } from './views/overview.tsx';
import { OwnTokens } from './views/own-tokens.tsx';
import { SecondFactor } from './views/second-factor.tsx';
import { User } from './views/user.tsx';
import { Users } from './views/users.tsx';

/** The screens behind the log-in: only one while a required second factor is not turned on. */
export function SignedIn() {
  const current = route.value;
  if (enrolling.value) return <SecondFactor key="second-factor" />;
  switch (current.screen) {
    case 'home':
      return isAdministrator() ? <Overview key="overview" /> : <ToIntegrations />;
    case 'account':
      return <Profile key="account" />;
    case 'password':
      return <Password key="password" />;
    case 'sessions':
      return <OwnSessions key="sessions" />;
    case 'tokens':
      return <OwnTokens key="tokens" />;
    case 'second-factor':
      return <SecondFactor key="second-factor" />;
    case 'users':
      return <Users key="users" />;
    case 'new-user':
      return isAdministrator() ? <NewUser key="new-user" /> : <NotFound />;
    case 'user':
      return <User key={`user ${current.login}`} login={current.login} />;
    case 'log-in-preview':
      return isAdministrator() ? <LogInPreview key="log-in-preview" /> : <NotFound />;
    case 'integrations':
      return <Integrations key="integrations" />;
    case 'new-integration':
      return managesIntegrations() ? <NewIntegration key="new-integration" /> : <NotFound />;
    case 'integration':
      return <Integration key={`integration ${current.id}`} id={current.id} />;
    case 'modules':
      return managesIntegrations() ? <Modules key="modules" /> : <NotFound />;
    case 'audit':
      return isAdministrator() ? <Audit key="audit" /> : <NotFound />;
    case 'about':
      return <About key="about" />;
    default:
      return <NotFound />;
  }
}

/** The first screen of somebody who administers no users. */
function ToIntegrations() {
  const target = `${BASE}/integrations`;
  useEffect(() => {
    void navigate(target, { replace: true });
  }, [target]);
  return null;
}

function NotFound() {
  const t = texts();
  return (
    <Screen title={t.notFound}>
      <p>{t.notFoundText}</p>
      <p>
        <a href={BASE}>{t.notFoundLink}</a>
      </p>
    </Screen>
  );
}
