import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { navigated } from '../navigation.ts';
import { claims, notice, texts } from '../state.ts';

interface Properties {
  readonly title: string;
  /** Where the screen belongs: the address and the name of the list that leads to it. */
  readonly above?: readonly [href: string, name: string];
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** One screen: its heading is the title of the page, and receives the focus after navigation. */
export function Screen({ title, above, actions, children }: Properties) {
  const heading = useRef<HTMLHeadingElement>(null);
  const environment = claims.value?.environment;
  useLayoutEffect(() => {
    document.title = [title, 'Gatehouse', environment].filter(Boolean).join(' – ');
  }, [title, environment]);
  useLayoutEffect(() => {
    if (navigated) heading.current?.focus();
  }, []);
  return (
    <>
      <div class="head">
        {above && (
          <nav class="trail" aria-label={texts().trail}>
            <a href={above[0]}>{above[1]}</a>
          </nav>
        )}
        <h1 tabIndex={-1} ref={heading} translate={false}>
          {title}
        </h1>
        {actions && <div class="actions">{actions}</div>}
      </div>
      <Notice />
      {children}
    </>
  );
}

/** Says what was just done. It is always rendered: a new region would not be announced. */
function Notice() {
  return (
    <div role="status" class="said">
      {notice.value && (
        // A translation by the browser would keep the former text of an element that stays.
        <p class="notice done" key={notice.value}>
          {notice.value}
        </p>
      )}
    </div>
  );
}

/** After a change of what the whole screen shows. */
export const focusHeading = (): void => document.querySelector('h1')?.focus();
