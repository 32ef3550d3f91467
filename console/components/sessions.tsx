import { useRef, useState } from 'preact/hooks';
import type { ListSessionsResponse } from '../api/generated/types.gen.ts';
import type { Answer, Problem } from '../api/request.ts';
import { issuerName, issuers, language, notice, texts } from '../state.ts';
import { dateTime, fill } from '../text.ts';
import { Confirm } from './confirm.tsx';
import { useLoad } from './load.ts';
import { Time } from './parts.tsx';
import { Alert, Waiting } from './problem.tsx';
import { type Column, Table } from './table.tsx';

type Session = ListSessionsResponse[number];

interface Properties {
  readonly load: () => Promise<Answer<ListSessionsResponse>>;
  readonly end: (series: string) => Promise<Answer<unknown>>;
  /** Ends all sessions but the caller's current one, and all API tokens of the caller. */
  readonly endOthers?: () => Promise<Answer<unknown>>;
}

export function Sessions({ load, end, endOthers }: Properties) {
  const t = texts();
  const { answer, loading, reload } = useLoad('', load);
  const ending = useEnding(reload);
  const ended = useRef(new Set<string>()).current;
  const endOnce = async (series: string) => {
    // A second click is rejected with 404, which would hide that the first one has succeeded.
    if (ended.has(series)) return;
    ended.add(series);
    await ending.end(async () => {
      const result = await end(series);
      if (!result.ok) ended.delete(series);
      return result;
    });
  };
  if (!answer) return <Waiting />;
  if (!answer.ok) return <Alert problem={answer.problem} onRetry={reload} />;
  const columns = columnsOf((series) => void endOnce(series));
  const sessions = answer.data;
  return (
    <>
      {ending.problem && <Alert problem={ending.problem} />}
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
      {endOthers && (
        <Confirm
          action={t.endOthers}
          onConfirm={async () => {
            const ended = await endOthers();
            if (!ended.ok) return ended.problem;
            notice.value = t.sessionsEnded;
            reload();
            return undefined;
          }}
        >
          <p>{t.endOthersText}</p>
        </Confirm>
      )}
    </>
  );
}

/** Ends sessions, and shows them again whatever the response is. */
export function useEnding(onEnded: () => void) {
  const [problem, setProblem] = useState<Problem>();
  const end = async (request: () => Promise<Answer<unknown>>) => {
    notice.value = '';
    const answer = await request();
    setProblem(answer.ok ? undefined : answer.problem);
    if (answer.ok) notice.value = texts().sessionsEnded;
    onEnded();
  };
  return { problem, end };
}

function columnsOf(end: (series: string) => void): Column<Session>[] {
  const t = texts();
  const labelOf = ({ tokenDate }: Session) =>
    fill(t.endSession, { time: dateTime(language.value, tokenDate) });
  const means: Column<Session> = {
    field: 'issuer',
    label: t.logInBy,
    width: 'w8',
    rank: 1,
    cell: ({ issuer }) => (issuer === null ? t.password : issuerName(issuer)),
  };
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
    ...(issuers.value.length > 0 ? [means] : []),
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
