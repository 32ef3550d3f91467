import type { Role, User } from '../api/generated/types.gen.ts';
import { Badge, type IconName, type Tone } from '../components/icon.tsx';
import { texts } from '../state.ts';

/* How roles and states of users are shown. */

const ROLES: readonly Role[] = ['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST'];

/** The roles with their names in the user's language. */
export const roleOptions = (): { value: Role; label: string; hint: string }[] => {
  const t = texts();
  return ROLES.map((value) => ({ value, label: t.roleNames[value], hint: t.roleHints[value] }));
};

const LOOKS = {
  active: { tone: 'good', icon: 'check' },
  neverLoggedIn: { tone: 'plain', icon: 'clock' },
  invited: { tone: 'accent', icon: 'clock' },
  invitationExpired: { tone: 'warning', icon: 'alert' },
  deactivated: { tone: 'bad', icon: 'cross' },
} as const satisfies Record<string, { tone: Tone; icon: IconName }>;

/** What is true of a user: for administrators also how far an invitation has come. */
export function StateBadge({ user }: { user: Pick<User, 'activated' | 'state'> }) {
  const state = user.state ?? (user.activated ? 'active' : 'deactivated');
  return <Badge {...LOOKS[state]} text={texts().userStates[state]} />;
}

/** Named where neither the head of a column nor a heading says what is on or off. */
export function FactorBadge({ on, named = false }: { on: boolean; named?: boolean }) {
  const { factorShort, factorState } = texts();
  const state = on ? factorState.on : factorState.off;
  return (
    <Badge
      tone={on ? 'good' : 'warning'}
      icon={on ? 'shield' : 'alert'}
      text={named ? `${factorShort}: ${state}` : state}
    />
  );
}

export function RoleBadges({ roles }: { roles: readonly Role[] }) {
  if (roles.length === 0) return <>{texts().none}</>;
  return (
    <>
      {roles.map((role) => (
        <Badge
          key={role}
          tone={role === 'ROLE_ADMIN' ? 'accent' : 'plain'}
          text={texts().roleNames[role]}
        />
      ))}
    </>
  );
}

export const rolesText = (roles: readonly Role[]): string =>
  roles.map((role) => texts().roleNames[role]).join(', ') || texts().none;
