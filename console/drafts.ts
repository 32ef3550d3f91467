import { claims } from './state.ts';

/* What is typed and not saved, for a reload. Of secrets only the field: this is not encrypted. */

const KEY = 'gatehouse.drafts';

/** The state of the entity that a form began from. */
export interface Began {
  readonly etag: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface Draft {
  readonly began?: Began | undefined;
  /** The values of the edited fields by name; null for a secret. */
  readonly typed: Readonly<Record<string, readonly string[] | null>>;
}

type Drafts = Readonly<Record<string, Draft>>;

/** Another user who logs in here gets no draft, and their first draft replaces these. */
function drafts(): Drafts {
  const { owner, forms } = JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
  return forms && owner === claims.value?.id ? forms : {};
}

const keyOf = (form: string): string => `${location.pathname} ${form}`;

function store(forms: Drafts): void {
  if (Object.keys(forms).length === 0) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, JSON.stringify({ owner: claims.value?.id, forms }));
}

const drop = (isDropped: (key: string) => boolean): void =>
  store(Object.fromEntries(Object.entries(drafts()).filter(([key]) => !isDropped(key))));

export const draftOf = (form: string): Draft | undefined => drafts()[keyOf(form)];

export const keepDraft = (form: string, draft: Draft): void =>
  store({ ...drafts(), [keyOf(form)]: draft });

export const dropDraft = (form: string): void => drop((key) => key === keyOf(form));

export const dropDraftsOf = (pathname: string): void =>
  drop((key) => key.startsWith(`${pathname} `));
