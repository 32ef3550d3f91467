import { useState } from 'preact/hooks';
import { language, texts } from '../state.ts';
import { dateTime, relativeTime } from '../text.ts';

/** How long ago something was, or how soon it will be; the exact time where one looks. */
export function Time({ instant }: { instant: string | null | undefined }) {
  if (!instant) return <span class="time">{texts().never}</span>;
  return (
    <time dateTime={instant} translate={false}>
      <span class="relative">{relativeTime(language.value, instant, Date.now())}</span>
      <span class="exact">{dateTime(language.value, instant)}</span>
    </time>
  );
}

/** The exact time alone, where entries are told apart by it. */
export const ExactTime = ({ instant }: { instant: string }) => (
  <time dateTime={instant} translate={false}>
    {dateTime(language.value, instant)}
  </time>
);

export function Copy({ text, label }: { text: string; label: string }) {
  const t = texts();
  const [copied, setCopied] = useState(false);
  // Browsers offer the clipboard to secure origins only.
  if (!navigator.clipboard) return null;
  const name = `${t.copy}: ${label}`;
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <>
      <button type="button" class="quiet" aria-label={name} onClick={() => void copy()}>
        {t.copy}
      </button>
      <span role="status">{copied && ` ${t.copied}`}</span>
    </>
  );
}
