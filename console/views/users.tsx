import type { Role, User } from '../api/generated/types.gen.ts';
import { type Column, DataList, type Filter } from '../components/data-list.tsx';
import { Time } from '../components/parts.tsx';
import { Screen } from '../components/screen.tsx';
import { BASE, userPath } from '../route.ts';
import { isAdministrator, send, texts } from '../state.ts';

const ROLES: readonly Role[] = ['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST'];

/** The roles with their names in the user's language. */
export const roleOptions = (): { value: Role; label: string; hint: string }[] => {
  const t = texts();
  return ROLES.map((value) => ({ value, label: t.roleNames[value], hint: t.roleHints[value] }));
};

const CSV_FIELDS = [
  'id',
  'login',
  'firstName',
  'lastName',
  'email',
  'activated',
  'langKey',
  'authorities',
  'createdDate',
  'lastModifiedDate',
  'lastLogin',
  'secondFactor',
] as const satisfies readonly (keyof User)[];

export function Users() {
  const t = texts();
  return (
    <Screen title={t.users}>
      {isAdministrator() && (
        <p>
          <a class="button primary" href={`${BASE}/users/new`}>
            {t.newUser}
          </a>
        </p>
      )}
      <DataList
        title={t.users}
        load={(query) => send('GET /api/users', { query })}
        columns={columnsOf()}
        filters={filtersOf()}
        rowKey={({ id }) => id}
        sort={{ field: 'id', descending: false }}
        counted={t.usersFound}
        empty={t.noUsers}
        file="users.csv"
        heads={CSV_FIELDS}
        cells={(user) => CSV_FIELDS.map((field) => user[field])}
      />
    </Screen>
  );
}

function filtersOf(): Filter[] {
  const t = texts();
  return [
    { name: 'login.contains', label: t.login, exact: 'login.equals' },
    { name: 'email.contains', label: t.email, exact: 'email.equals' },
    { name: 'id.equals', label: t.id },
    {
      name: 'authorities.equals',
      label: t.role,
      options: roleOptions().map(({ value, label }) => [value, label] as const),
    },
    {
      name: 'activated.equals',
      label: t.state,
      options: [
        ['true', t.activated],
        ['false', t.deactivated],
      ],
    },
  ];
}

function columnsOf(): Column<User>[] {
  const t = texts();
  const forAdministrators: Column<User>[] = [
    {
      field: 'lastLogin',
      label: t.lastLogin,
      words: true,
      cell: ({ lastLogin }) => <Time instant={lastLogin} />,
    },
    {
      field: 'secondFactor',
      label: t.secondFactor,
      words: true,
      cell: ({ secondFactor }) => (secondFactor ? t.factorState.on : t.factorState.off),
    },
  ];
  return [
    {
      field: 'login',
      label: t.login,
      sortable: true,
      cell: ({ login }) => <a href={userPath(login)}>{login}</a>,
    },
    { field: 'id', label: t.id, sortable: true, cell: ({ id }) => id },
    { field: 'lastName', label: t.name, sortable: true, cell: nameOf },
    { field: 'email', label: t.email, sortable: true, cell: ({ email }) => email },
    {
      field: 'authorities',
      label: t.roles,
      words: true,
      cell: ({ authorities }) => rolesText(authorities),
    },
    {
      field: 'activated',
      label: t.state,
      sortable: true,
      words: true,
      cell: ({ activated }) => (activated ? t.activated : t.deactivated),
    },
    ...(isAdministrator() ? forAdministrators : []),
  ];
}

const nameOf = ({ firstName, lastName }: User): string =>
  [firstName, lastName].filter(Boolean).join(' ');

export const rolesText = (roles: readonly Role[]): string =>
  roles.map((role) => texts().roleNames[role]).join(', ') || texts().none;
