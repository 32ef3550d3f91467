import type { Role } from '../api/generated/types.gen.ts';
import { Badge } from '../components/icon.tsx';
import { texts } from '../state.ts';

/* How roles and states of users are shown. */

const ROLES: readonly Role[] = ['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST'];

/** The roles with their names in the user's language. */
export const roleOptions = (): { value: Role; label: string; hint: string }[] => {
  const t = texts();
  return ROLES.map((value) => ({ value, label: t.roleNames[value], hint: t.roleHints[value] }));
};

export const StateBadge = ({ activated }: { activated: boolean }) => (
  <Badge
    tone={activated ? 'good' : 'bad'}
    icon={activated ? 'on' : 'off'}
    text={activated ? texts().activated : texts().deactivated}
  />
);

export const FactorBadge = ({ on }: { on: boolean }) => (
  <Badge
    tone={on ? 'good' : 'warning'}
    icon={on ? 'shield' : 'alert'}
    text={on ? texts().factorState.on : texts().factorState.off}
  />
);

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
