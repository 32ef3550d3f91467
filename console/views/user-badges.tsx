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
  invited: { tone: 'plain', icon: 'clock' },
  invitationExpired: { tone: 'warning', icon: 'alert' },
  deactivated: { tone: 'bad', icon: 'cross' },
} as const satisfies Record<string, { tone: Tone; icon: IconName }>;

/** What is true of a user: for administrators also how far an invitation has come. */
export function StateBadge({ user }: { user: Pick<User, 'activated' | 'state'> }) {
  const state = user.state ?? (user.activated ? 'active' : 'deactivated');
  return <Badge {...LOOKS[state]} text={texts().userStates[state]} />;
}

/** Warns of administrators only: a warning on every row would hide them. */
export function FactorBadge(shown: { on: boolean; roles: readonly Role[]; named?: boolean }) {
  const { factorShort, factorState } = texts();
  const state = shown.on ? factorState.on : factorState.off;
  // Named where neither the head of a column nor a heading says what is on or off.
  const text = shown.named ? `${factorShort}: ${state}` : state;
  if (shown.on) return <Badge tone="good" icon="shield" text={text} />;
  if (shown.roles.includes('ROLE_ADMIN')) return <Badge tone="warning" icon="alert" text={text} />;
  return <Badge tone="plain" icon="cross" text={text} />;
}

export function RoleBadges({ roles }: { roles: readonly Role[] }) {
  if (roles.length === 0) return <span class="hint">{texts().none}</span>;
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
