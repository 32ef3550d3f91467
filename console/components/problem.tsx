import { useEffect, useState } from 'preact/hooks';
import type { Problem } from '../api/request.ts';
import { fieldErrorText, problemText } from '../form.ts';
import { BASE, withQuery } from '../route.ts';
import { language, texts } from '../state.ts';
import { plural } from '../text.ts';

const ADMINISTRATORS = withQuery(`${BASE}/users`, {
  'authorities.equals': 'ROLE_ADMIN',
  'activated.equals': 'true',
});

/** Why a request was refused; after too many requests also how long to wait. */
export function ProblemText({ problem, text }: { problem: Problem; text?: string | undefined }) {
  const t = texts();
  const { retryAfterSeconds, status } = problem;
  const mustWait = status === 429 || (status === 503 && retryAfterSeconds !== undefined);
  return (
    <>
      {text ?? problemText(problem, t)}{' '}
      {mustWait && <Wait key={problem} seconds={retryAfterSeconds ?? 1} />}
      {problem.message === 'error.lastadmin' && <a href={ADMINISTRATORS}>{t.adminsLink}</a>}
    </>
  );
}

/** Announced only twice: a text that changes each second would never be read to its end. */
function Wait({ seconds }: { seconds: number }) {
  const t = texts();
  const [over, setOver] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), seconds * 1000);
    return () => clearTimeout(timer);
  }, [seconds]);
  if (over) return <>{t.waitOver}</>;
  if (seconds < 120) return <>{plural(language.value, t.waitSeconds, seconds)}</>;
  return <>{plural(language.value, t.waitMinutes, Math.ceil(seconds / 60))}</>;
}

interface AlertProperties {
  readonly problem: Problem;
  /** What the fields of the problem are called on this screen. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly onRetry?: () => void;
}

export function Alert({ problem, labels = {}, onRetry }: AlertProperties) {
  const t = texts();
  return (
    <div role="alert" class="notice refused">
      <p>
        <ProblemText problem={problem} />
      </p>
      {problem.fieldErrors.map((error) => (
        <p key={error.field}>
          {labels[error.field] ?? error.field}: {fieldErrorText(error, t)}
        </p>
      ))}
      {onRetry && isPassing(problem) && (
        <button type="button" onClick={onRetry}>
          {t.retry}
        </button>
      )}
    </div>
  );
}

const isPassing = ({ status }: Problem): boolean =>
  status === 0 || status === 401 || status === 429 || status >= 500;

/** Holds the place of what is awaited; the style sheet hides it for the first moments. */
export function Waiting() {
  return <p class="waiting">{texts().waiting} …</p>;
}
