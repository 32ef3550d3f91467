import { useState } from 'preact/hooks';
import type { ListSessionsResponse } from '../api/generated/types.gen.ts';
import type { Answer, Problem } from '../api/request.ts';
import { language, texts } from '../state.ts';
import { dateTime, fill } from '../text.ts';
import { useLoad } from './load.ts';
import { Time } from './parts.tsx';
import { Alert, Waiting } from './problem.tsx';
import { type Column, Table } from './table.tsx';

type Session = ListSessionsResponse[number];

interface Properties {
  readonly load: () => Promise<Answer<ListSessionsResponse>>;
  readonly end: (series: string) => Promise<Answer<unknown>>;
  /** Ends all but the own one. */
  readonly endOthers?: () => Promise<Answer<unknown>>;
}

export function Sessions({ load, end, endOthers }: Properties) {
  const t = texts();
  const { answer, loading, reload } = useLoad('', load);
  const [problem, setProblem] = useState<Problem>();
  const [ended, setEnded] = useState(false);
  const endThem = async (request: () => Promise<Answer<unknown>>) => {
    setEnded(false);
    const result = await request();
    setProblem(result.ok ? undefined : result.problem);
    setEnded(result.ok);
    reload();
  };
  if (!answer) return <Waiting />;
  if (!answer.ok) return <Alert problem={answer.problem} onRetry={reload} />;
  const columns = columnsOf((series) => void endThem(() => end(series)));
  const sessions = answer.data;
  return (
    <>
      <div role="status">{ended && <p class="notice done">{t.sessionsEnded}</p>}</div>
      {problem && <Alert problem={problem} />}
      {sessions.length === 0 && <p>{t.noSessions}</p>}
      {sessions.length > 0 && (
        <Table
          columns={columns}
          rows={sessions}
          rowKey={({ series }) => series}
          caption={t.sessions}
          busy={loading}
        />
      )}
      {endOthers && sessions.some(({ current }) => !current) && (
        <p>
          <button type="button" onClick={() => void endThem(endOthers)}>
            {t.endOthers}
          </button>
        </p>
      )}
    </>
  );
}

function columnsOf(end: (series: string) => void): Column<Session>[] {
  const t = texts();
  const labelOf = ({ tokenDate }: Session) =>
    fill(t.endSession, { time: dateTime(language.value, tokenDate) });
  return [
    {
      field: 'tokenDate',
      label: t.started,
      cell: ({ tokenDate, current }) => (
        <>
          <Time instant={tokenDate} /> {current && `(${t.thisSession})`}
        </>
      ),
    },
    {
      field: 'expires',
      label: t.expires,
      width: 'w6',
      cell: ({ expires }) => <Time instant={expires} />,
    },
    { field: 'ipAddress', label: t.address, width: 'w8', cell: ({ ipAddress }) => ipAddress },
    { field: 'userAgent', label: t.program, cell: ({ userAgent }) => userAgent },
    {
      field: 'secondFactor',
      label: t.factorShort,
      width: 'w4',
      rank: 2,
      cell: ({ secondFactor }) => (secondFactor ? t.yes : t.no),
    },
    {
      field: 'end',
      label: '',
      width: 'w6',
      // The own session ends by logging out.
      cell: (session) =>
        !session.current && (
          <button type="button" aria-label={labelOf(session)} onClick={() => end(session.series)}>
            {t.end}
          </button>
        ),
    },
  ];
}
