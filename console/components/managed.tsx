import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { texts } from '../state.ts';
import { fill } from '../text.ts';
import { ConfirmDialog } from './confirm.tsx';
import { ManagedContext } from './form.tsx';
import { Badge } from './icon.tsx';

interface Properties {
  /** The name of the set of files. */
  readonly by: string | undefined;
}

/** Forms inside ask once before they change what files manage; dialogs inside mention the files. */
export function Managed({ by, children }: Properties & { readonly children: ComponentChildren }) {
  const hasAgreed = useRef(false);
  const [answer, setAnswer] = useState<(mayChange: boolean) => void>();
  const mayChange = async (): Promise<boolean> => {
    if (by === undefined || hasAgreed.current) return true;
    // Wrapped in a function, because the setter calls a function that it is given.
    hasAgreed.current = await new Promise<boolean>((resolve) => setAnswer(() => resolve));
    setAnswer(undefined);
    return hasAgreed.current;
  };
  return (
    <ManagedContext.Provider value={{ by, mayChange }}>
      {children}
      {answer && (
        <ConfirmDialog
          action={texts().changeByHand}
          onConfirm={async () => {
            answer(true);
            return undefined;
          }}
          onClose={() => answer(false)}
        />
      )}
    </ManagedContext.Provider>
  );
}

export function ManagedBadge({ by }: Properties) {
  if (by === undefined) return null;
  return (
    <p>
      <Badge tone="accent" icon="audit" text={fill(texts().managedBy, { name: by })} />
    </p>
  );
}
