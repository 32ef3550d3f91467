import { computed, signal } from '@preact/signals';
import type { GetAccountResponse } from './api/generated/types.gen.ts';
import { connect, type Problem } from './api/request.ts';
import type { Dictionary } from './languages/en.ts';
import { claimsOf, mustEnrol } from './session.ts';
import { authorizationUrl, type Begun, type Issuer, randomText } from './sign-in.ts';
import { DICTIONARIES, type Language, languageOf } from './text.ts';

/* What all screens share. */

export type Account = GetAccountResponse;

/**
 * The token lives in this tab and survives a reload: no other origin reads it, and only a
 * duplicated tab gets a copy.
 */
const TOKEN = 'gatehouse.token';

export const token = signal(sessionStorage.getItem(TOKEN) ?? undefined);
export const claims = computed(() => claimsOf(token.value ?? ''));
export const account = signal<Account | undefined>(undefined);

/** Whether the service has demanded a second factor, whatever this clock says. */
const factorDemanded = signal(false);
export const enrolling = computed(() => {
  const own = account.value;
  return !!own && !own.secondFactor && (factorDemanded.value || mustEnrol(own, new Date()));
});

export const language = signal<Language>('en');
const dictionary = signal<Dictionary | undefined>(undefined);

/** What the screen that follows a navigation says first, such as that something was created. */
export const notice = signal('');

/** The texts of the language. Nothing is rendered before they are loaded. */
export function texts(): Dictionary {
  if (!dictionary.value) throw new Error('The language is not loaded');
  return dictionary.value;
}

export async function loadLanguage(): Promise<void> {
  const chosen = account.value ? [account.value.langKey] : [];
  const best = languageOf([...chosen, ...navigator.languages]);
  if (dictionary.value && best === language.value) return;
  const loaded = await DICTIONARIES[best]().catch((error: unknown) => {
    // Without the other language, such as offline, the console goes on in the present one.
    if (!dictionary.value) throw error;
    return undefined;
  });
  if (!loaded) return;
  document.documentElement.lang = best;
  language.value = best;
  dictionary.value = loaded;
}

/** Another user than the last one sees nothing of theirs. */
export function startSession(newToken: string): void {
  if (claimsOf(newToken)?.id !== claims.value?.id) {
    account.value = undefined;
    proofToLink.value = undefined;
    factorDemanded.value = false;
  }
  sessionStorage.setItem(TOKEN, newToken);
  token.value = newToken;
}

/** Forgets the token, and the drafts of the forms with it. */
export function endSession(): void {
  sessionStorage.clear();
  token.value = undefined;
  account.value = undefined;
  proofToLink.value = undefined;
  factorDemanded.value = false;
}

/** Resolves the requests that wait for the password: see the dialog that asks for it. */
export const waitingForPassword = signal<((resumed: boolean) => void) | undefined>(undefined);
let resuming: Promise<boolean> | undefined;

function resume(): Promise<boolean> {
  resuming ??= new Promise<boolean>((resolve) => {
    waitingForPassword.value = resolve;
  }).finally(() => {
    resuming = undefined;
    waitingForPassword.value = undefined;
  });
  return resuming;
}

export const send = connect({
  fetch: (...args) => fetch(...args),
  token: () => token.value,
  resume,
  onFactorRequired: () => {
    factorDemanded.value = true;
    void loadAccount();
  },
});

/** Requests without a token, which a session that has ended must not stop. */
export const sendPublicly = connect({
  fetch: (...args) => fetch(...args),
  token: () => undefined,
  resume: async () => false,
  onFactorRequired: () => undefined,
});

export async function loadAccount() {
  const answer = await send('GET /api/account', {});
  if (answer.ok) {
    account.value = answer.data;
    await loadLanguage();
  }
  return answer;
}

/** The identity providers of the environment. */
export const issuers = signal<readonly Issuer[]>([]);
/** Why they could not be loaded. */
export const issuersProblem = signal<Problem | undefined>(undefined);
let loadingIssuers: Promise<void> | undefined;

/** Loads them once, because they change only with a deployment. */
export function loadIssuers(): Promise<void> {
  loadingIssuers ??= sendPublicly('GET /api/issuers', {}).then((answer) => {
    issuersProblem.value = answer.ok ? undefined : answer.problem;
    if (answer.ok) issuers.value = answer.data;
    else loadingIssuers = undefined;
  });
  return loadingIssuers;
}

export const knownIssuer = (issuer: string | undefined): Issuer | undefined =>
  issuers.value.find((known) => known.issuer === issuer);

export const issuerName = (issuer: string): string => knownIssuer(issuer)?.name ?? issuer;

const BEGUN = 'gatehouse.sign-in';

/** Leaves for a provider, to log in or to link the account of the user with the id `linking`. */
export async function beginSignIn(issuer: Issuer, target: string, linking?: string): Promise<void> {
  const begun: Begun = {
    issuer: issuer.issuer,
    state: randomText(),
    codeVerifier: randomText(),
    target,
    linking,
  };
  const url = await authorizationUrl(issuer, begun, location.origin);
  sessionStorage.setItem(BEGUN, JSON.stringify(begun));
  location.assign(url);
}

/** What this tab has begun, which counts once. */
export function takeBegun(): Begun | undefined {
  const begun = sessionStorage.getItem(BEGUN);
  sessionStorage.removeItem(BEGUN);
  return begun === null ? undefined : JSON.parse(begun);
}

/** The proof of an identity that waits for the password of the account to be linked. */
export const proofToLink = signal<
  { readonly issuer: string; readonly assertion: string; readonly codeVerifier: string } | undefined
>(undefined);

const hasRole = (...roles: readonly string[]): boolean =>
  account.value?.authorities.some((role) => roles.includes(role)) ?? false;

export const isAdministrator = (): boolean => hasRole('ROLE_ADMIN');
export const managesIntegrations = (): boolean => hasRole('ROLE_ADMIN', 'ROLE_USER');
