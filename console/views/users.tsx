import type { User } from '../api/generated/types.gen.ts';
import { DataList } from '../components/data-list.tsx';
import type { Filter } from '../components/filters.tsx';
import { Icon } from '../components/icon.tsx';
import { Time } from '../components/parts.tsx';
import { Screen } from '../components/screen.tsx';
import type { Column } from '../components/table.tsx';
import { BASE, userPath } from '../route.ts';
import { isAdministrator, issuerName, issuers, send, texts } from '../state.ts';
import { ManyUsers } from './many-users.tsx';
import { FactorBadge, RoleBadges, roleOptions, StateBadge } from './user-badges.tsx';

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
  'tokensExpire',
] as const satisfies readonly (keyof User)[];

const MANY = {
  nameOf: ({ login }: User) => login,
  actions: (users: readonly User[], onDone: () => void) => (
    <ManyUsers users={users} onDone={onDone} />
  ),
};

export function Users() {
  const t = texts();
  return (
    <Screen
      title={t.users}
      actions={
        isAdministrator() && (
          <a class="button primary" href={`${BASE}/users/new`}>
            <Icon name="add" />
            {t.newUser}
          </a>
        )
      }
    >
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
        {...(isAdministrator() && { many: MANY })}
      />
      {isAdministrator() && issuers.value.length > 0 && (
        <p class="below">
          <a href={`${BASE}/log-in-preview`}>{t.preview}</a>
        </p>
      )}
    </Screen>
  );
}

function filtersOf(): Filter[] {
  const t = texts();
  const forAdministrators: Filter[] = [
    { name: 'state.equals', label: t.exactState, options: Object.entries(t.userStates) },
    {
      name: 'secondFactor.equals',
      label: t.secondFactor,
      options: [
        ['true', t.factorState.on],
        ['false', t.factorState.off],
      ],
    },
    { name: 'lastLogin.lessThan', label: t.notSince, as: 'from' },
    {
      name: 'lastLogin.specified',
      label: t.loggedInEver,
      options: [
        ['true', t.yes],
        ['false', t.no],
      ],
    },
    { name: 'tokensExpire.lessThan', label: t.tokensExpireBefore, as: 'from' },
  ];
  return [
    {
      name: 'text.contains',
      label: t.findUser,
      as: 'search',
      exact: [
        ['login.equals', t.login],
        ['email.equals', t.email],
      ],
    },
    {
      name: 'authorities.equals',
      label: t.role,
      options: roleOptions().map(({ value, label }) => [value, label] as const),
      as: 'chips',
    },
    {
      name: 'activated.equals',
      label: t.state,
      options: [
        ['true', t.activated],
        ['false', t.deactivated],
      ],
      as: 'chips',
    },
    { name: 'id.equals', label: t.id },
    {
      name: 'authorities.specified',
      label: t.roles,
      options: [
        ['true', t.yes],
        ['false', t.no],
      ],
      as: 'link',
    },
    ...(isAdministrator() ? forAdministrators : []),
  ];
}

function columnsOf(): Column<User>[] {
  const t = texts();
  const forAdministrators: Column<User>[] = [
    {
      field: 'lastLogin',
      label: t.lastLogin,
      sortable: true,
      width: 'w6',
      rank: 2,
      cell: ({ lastLogin }) => <Time instant={lastLogin} />,
    },
    {
      field: 'secondFactor',
      label: t.factorShort,
      width: 'w4',
      rank: 2,
      cell: ({ secondFactor = false, authorities }) => (
        <FactorBadge on={secondFactor} roles={authorities} />
      ),
    },
    {
      field: 'tokensExpire',
      label: t.tokensExpire,
      sortable: true,
      width: 'w8',
      rank: 3,
      cell: ({ tokensExpire }) => (tokensExpire ? <Time instant={tokensExpire} /> : '–'),
    },
  ];
  const identities: Column<User> = {
    field: 'identities',
    label: t.linked,
    width: 'w8',
    rank: 3,
    cell: ({ identities: linked = [] }) =>
      linked.map(({ issuer }) => issuerName(issuer)).join(', ') || '–',
  };
  return [
    {
      field: 'login',
      label: t.login,
      sortable: true,
      cell: ({ login }) => <a href={userPath(login)}>{login}</a>,
    },
    { field: 'lastName', label: t.name, sortable: true, cell: nameOf },
    { field: 'email', label: t.email, sortable: true, rank: 1, cell: ({ email }) => email },
    {
      field: 'authorities',
      label: t.roles,
      width: 'w12',
      cell: ({ authorities }) => <RoleBadges roles={authorities} />,
    },
    {
      field: 'activated',
      label: t.state,
      sortable: true,
      width: 'w8',
      cell: (user) => <StateBadge user={user} />,
    },
    ...(isAdministrator() ? forAdministrators : []),
    ...(isAdministrator() && issuers.value.length > 0 ? [identities] : []),
    { field: 'id', label: t.id, sortable: true, width: 'w4', rank: 3, cell: ({ id }) => id },
  ];
}

const nameOf = ({ firstName, lastName }: User): string =>
  [firstName, lastName].filter(Boolean).join(' ');
