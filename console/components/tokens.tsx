import type { ListTokensResponse, Scope } from '../api/generated/types.gen.ts';
import type { Answer, Problem } from '../api/request.ts';
import { notice, texts } from '../state.ts';
import { fill } from '../text.ts';
import { Confirm } from './confirm.tsx';
import { useLoad } from './load.ts';
import { Time } from './parts.tsx';
import { Alert, Waiting } from './problem.tsx';
import { type Column, Table } from './table.tsx';

type Token = ListTokensResponse[number];
type AreaOf<S extends Scope> = S extends `${infer Name}:${string}` ? Name : S;
export type Area = AreaOf<Scope>;

/** The names of the areas of the scopes, in the user's language. */
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
    scim: t.scim,
  };
}

export function scopeText(scope: Scope): string {
  const [area, use] = scope.split(':') as [Area, ('read' | 'write')?];
  return areaNames()[area] + (use ? `: ${texts()[use]}` : '');
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
  const removeToken = async ({ series, name }: Token): Promise<Problem | undefined> => {
    const result = await remove(series);
    if (!result.ok) return result.problem;
    notice.value = fill(t.deleted, { name });
    reload();
    return undefined;
  };
  return (
    <Table
      columns={columnsOf(removeToken)}
      rows={tokens}
      rowKey={({ series }) => series}
      caption={t.apiTokens}
      busy={loading}
    />
  );
}

function columnsOf(remove: (token: Token) => Promise<Problem | undefined>): Column<Token>[] {
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
          onConfirm={() => remove(token)}
          danger
        >
          <p>{t.deleteTokenText}</p>
        </Confirm>
      ),
    },
  ];
}
