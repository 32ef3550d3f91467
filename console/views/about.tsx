import { version } from '../../package.json';
import { useLoad } from '../components/load.ts';
import { Alert, Waiting } from '../components/problem.tsx';
import { Screen } from '../components/screen.tsx';
import { claims, sendPublicly, texts } from '../state.ts';

export function About() {
  const t = texts();
  const { answer, reload } = useLoad('', () => sendPublicly('GET /api/health', {}));
  return (
    <Screen title={t.about}>
      <dl>
        <dt>{t.version}</dt>
        <dd>{version}</dd>
        <dt>{t.environment}</dt>
        <dd>{claims.value?.environment}</dd>
        <dt>{t.health}</dt>
        <dd>
          {!answer && <Waiting />}
          {answer?.ok && t.healthUp}
          {answer && !answer.ok && <Alert problem={answer.problem} onRetry={reload} />}
        </dd>
      </dl>
      <p>
        <a href="/api/openapi.json">{t.apiLink}</a>
      </p>
    </Screen>
  );
}
