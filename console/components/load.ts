import { useEffect, useRef, useState } from 'preact/hooks';
import type { Answer, Success } from '../api/request.ts';

export interface Loaded<T> {
  readonly answer: Answer<T> | undefined;
  /** The last success: a failed reload must not remove a form in which somebody types. */
  readonly shown: Success<T> | undefined;
  readonly loading: boolean;
  readonly reload: () => void;
}

/** Loads again when `key` changes. What was shown stays until the response arrives. */
export function useLoad<T>(key: unknown, load: () => Promise<Answer<T>>): Loaded<T> {
  const [answer, setAnswer] = useState<Answer<T>>();
  const [shown, setShown] = useState<Success<T>>();
  const [loading, setLoading] = useState(true);
  const [round, setRound] = useState(0);
  const latest = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for what is loaded.
  useEffect(() => {
    latest.current += 1;
    const mine = latest.current;
    setLoading(true);
    void load().then((found) => {
      if (mine !== latest.current) return;
      setAnswer(found);
      if (found.ok) setShown(found);
      setLoading(false);
    });
    return () => {
      latest.current += 1;
    };
  }, [key, round]);
  return { answer, shown, loading, reload: () => setRound((before) => before + 1) };
}
