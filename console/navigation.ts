import { computed, signal } from '@preact/signals';
import { dropDraftsOf } from './drafts.ts';
import { type Query, queryOf } from './list.ts';
import { BASE, routeOf, withQuery } from './route.ts';
import { notice } from './state.ts';

/* The address bar: navigation inside the page, and the question about unsaved changes. */

interface Place {
  readonly pathname: string;
  readonly search: string;
  readonly hash: string;
}

const here = (): Place => ({
  pathname: location.pathname,
  search: location.search,
  hash: location.hash,
});

const place = signal(here());
export const path = computed(() => place.value.pathname);
export const query = computed<Query>(() => queryOf(place.value.search));
export const route = computed(() => routeOf(place.value.pathname, place.value.hash));

export const hereWith = (target: Query): string => withQuery(path.value, target);

/** Whether the page was navigated to inside the console, so that the focus must follow. */
export let navigated = false;

const unsaved = new Set<() => boolean>();

/** Registers a form whose changes leaving would lose; returns a function that unregisters it. */
export function watchUnsaved(isDirty: () => boolean): () => void {
  unsaved.add(isDirty);
  return () => unsaved.delete(isDirty);
}

const dirty = (): boolean => [...unsaved].some((isDirty) => isDirty());

/** Resolves the question whether to leave without saving: see the dialog that asks it. */
export const leaving = signal<((leave: boolean) => void) | undefined>(undefined);

async function mayLeave(): Promise<boolean> {
  if (!dirty()) return true;
  const leave = await new Promise<boolean>((resolve) => {
    leaving.value = resolve;
  });
  leaving.value = undefined;
  return leave;
}

/** Goes to an address of the console. `saved` forgets the forms: what they hold is stored. */
export async function navigate(
  href: string,
  { replace = false, saved = false, say = '' } = {},
): Promise<void> {
  if (saved) unsaved.clear();
  const target = new URL(href, location.href);
  if (target.pathname !== location.pathname && !(await mayLeave())) return;
  notice.value = say;
  const index = historyIndex() + (replace ? 0 : 1);
  history[replace ? 'replaceState' : 'pushState']({ index }, '', target);
  shownIndex = index;
  show();
}

/** Takes the query out of the address and of the history, such as a code that is used once. */
export function takeQuery(): string {
  const { search } = location;
  if (search) history.replaceState(history.state, '', location.pathname);
  return search;
}

/** Removes the key of a mailed link from the address and from the history, and keeps the screen. */
export function hideFragment(): void {
  history.replaceState(history.state, '', location.pathname + location.search);
}

const historyIndex = (): number => history.state?.index ?? 0;
/** The index of the address that is shown. */
let shownIndex = historyIndex();

function show(): void {
  if (location.pathname !== place.value.pathname) dropDraftsOf(place.value.pathname);
  navigated = true;
  place.value = here();
}

async function onPopState(): Promise<void> {
  const index = historyIndex();
  if (location.pathname === place.value.pathname || !dirty()) {
    shownIndex = index;
    show();
    return;
  }
  // The browser has already moved: go back to the form, ask, and move again.
  const steps = index - shownIndex;
  if (steps === 0) return;
  history.go(-steps);
  await new Promise((resolve) => addEventListener('popstate', resolve, { once: true }));
  if (!(await mayLeave())) return;
  unsaved.clear();
  history.go(steps);
}

function onClick(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const { button, metaKey, ctrlKey, shiftKey, altKey, defaultPrevented } = event;
  if (!link || button !== 0 || metaKey || ctrlKey || shiftKey || altKey || defaultPrevented) return;
  const isOurs = link.origin === location.origin && !link.target && !link.download;
  if (!isOurs || (link.pathname !== BASE && !link.pathname.startsWith(`${BASE}/`))) return;
  // A link inside the page, such as from the error summary to a field.
  if (link.hash && link.pathname === location.pathname) return;
  event.preventDefault();
  void navigate(link.href);
}

export function startNavigation(): void {
  addEventListener('popstate', () => void onPopState());
  addEventListener('beforeunload', (event) => {
    if (dirty()) event.preventDefault();
  });
  document.addEventListener('click', onClick);
}
