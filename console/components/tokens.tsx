import type { ListTokensResponse, Scope } from '../api/generated/types.gen.ts';
import type { Answer } from '../api/request.ts';
import { notice, texts } from '../state.ts';
import { fill } from '../text.ts';
import { Confirm } from './confirm.tsx';
import { useLoad } from './load.ts';
import { Time } from './parts.tsx';
import { Alert, Waiting } from './problem.tsx';
import { type Column, Table } from './table.tsx';

type Token = ListTokensResponse[number];
export type Area = Scope extends `${infer Name}:${string}` ? Name : never;

/** What scopes are about, in the user's language. */
export function areaNames(): Readonly<Record<Area, string>> {
  const t = texts();
  return {
    account: t.ownAccount,
    users: t.users,
    sessions: t.sessions,
    integrations: t.integrations,
    parameters: t.parameters,
    modules: t.modules,
    plans: t.plans,
    'audit-trail': t.auditTrail,
    status: t.overview,
  };
}

export function scopeText(scope: Scope): string {
  const [area, use] = scope.split(':') as [Area, 'read' | 'write'];
  return `${areaNames()[area]}: ${texts()[use]}`;
}

interface Properties {
  readonly load: () => Promise<Answer<ListTokensResponse>>;
  readonly remove: (series: string) => Promise<Answer<unknown>>;
}

export function Tokens({ load, remove }: Properties) {
  const t = texts();
  const { answer, loading, reload } = useLoad('', load);
  if (!answer) return <Waiting />;
  if (!answer.ok) return <Alert problem={answer.problem} onRetry={reload} />;
  const tokens = answer.data;
  if (tokens.length === 0) return <p>{t.noTokens}</p>;
  const removal =
    ({ series, name }: Token) =>
    async () => {
      const result = await remove(series);
      if (!result.ok) return result.problem;
      notice.value = fill(t.deleted, { name });
      reload();
      return undefined;
    };
  return (
    <Table
      columns={columnsOf(removal)}
      rows={tokens}
      rowKey={({ series }) => series}
      caption={t.apiTokens}
      busy={loading}
    />
  );
}

type Removal = Parameters<typeof Confirm>[0]['onConfirm'];

function columnsOf(removal: (token: Token) => Removal): Column<Token>[] {
  const t = texts();
  return [
    { field: 'name', label: t.name, cell: ({ name }) => name },
    {
      field: 'scopes',
      label: t.scopes,
      cell: ({ scopes }) => scopes.map(scopeText).join(', '),
    },
    {
      field: 'createdDate',
      label: t.created,
      width: 'w6',
      rank: 2,
      cell: ({ createdDate }) => <Time instant={createdDate} />,
    },
    {
      field: 'expires',
      label: t.expires,
      width: 'w8',
      cell: ({ expires }) => <Time instant={expires} />,
    },
    {
      field: 'lastUsed',
      label: t.tokenUsed,
      width: 'w12',
      cell: ({ lastUsed, lastAddress }) => (
        <>
          <Time instant={lastUsed} /> {lastAddress}
        </>
      ),
    },
    {
      field: 'delete',
      label: '',
      width: 'w6',
      cell: (token) => (
        <Confirm
          action={fill(t.deleteThis, { name: token.name })}
          short={t.delete}
          onConfirm={removal(token)}
          danger
        >
          <p>{t.deleteTokenText}</p>
        </Confirm>
      ),
    },
  ];
}
