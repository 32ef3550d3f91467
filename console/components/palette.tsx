import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Problem } from '../api/request.ts';
import { navigate } from '../navigation.ts';
import { BASE, integrationPath, userPath } from '../route.ts';
import { isAdministrator, managesIntegrations, send, texts } from '../state.ts';
import { Dialog } from './dialog.tsx';
import { Icon } from './icon.tsx';
import { Alert } from './problem.tsx';

interface Place {
  readonly name: string;
  readonly kind: string;
  readonly href: string;
}

const SHORTCUTS = 'gatehouse.shortcuts';
/** A single letter must not act for people who speak to their browser (WCAG 2.1.4). */
const hasShortcuts = (): boolean => localStorage.getItem(SHORTCUTS) !== 'off';

const isTyping = ({ target }: Event): boolean =>
  target instanceof HTMLElement && target.matches('input, select, textarea, dialog *');

/** Opens one field that leads to everything, also by Ctrl K and /. */
export function PaletteButton() {
  const t = texts();
  const [open, setOpen] = useState<'search' | 'help'>();
  // Before the button is painted: what is shown can be used.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey } = event;
      const isCommand = (ctrlKey || metaKey) && key.toLowerCase() === 'k';
      const isSign =
        !ctrlKey && !metaKey && !altKey && !isTyping(event) && hasShortcuts() && '/?'.includes(key);
      if (document.querySelector('dialog[open]') || !(isCommand || isSign)) return;
      event.preventDefault();
      setOpen(key === '?' ? 'help' : 'search');
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  const close = () => setOpen(undefined);
  return (
    <>
      <button
        type="button"
        class="go"
        aria-keyshortcuts="Control+K"
        onClick={() => setOpen('search')}
      >
        <Icon name="search" />
        <span>{t.goTo}</span>
      </button>
      {open === 'search' && <Palette onClose={close} onHelp={() => setOpen('help')} />}
      {open === 'help' && <Shortcuts onClose={close} />}
    </>
  );
}

function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const t = texts();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const found = useFound(text);
  const places = [...pagesFor(text), ...(found?.places ?? [])].slice(0, 12);
  useEffect(() => input.current?.focus(), []);
  const go = (place: Place | undefined) => {
    if (!place) return;
    onClose();
    void navigate(place.href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') go(places[chosen]);
    else if (step) setChosen((chosen + step + places.length) % Math.max(1, places.length));
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={t.goTo} onClose={onClose}>
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-label={t.goToField}
        aria-expanded="true"
        aria-controls="places"
        aria-activedescendant={places.length > 0 ? `place-${chosen}` : undefined}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id="places" class="places" aria-label={t.goTo} translate={false}>
        {places.map((place, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus.
          <div
            key={place.href}
            id={`place-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => go(place)}
          >
            <span>{place.name}</span> <span class="hint">{place.kind}</span>
          </div>
        ))}
      </div>
      <div role="status">
        {found && !found.problem && places.length === 0 && <p>{t.goToNothing}</p>}
      </div>
      {found?.problem && <Alert problem={found.problem} />}
      <p class="actions">
        <button type="button" onClick={onHelp}>
          {t.shortcuts}
        </button>
        <button type="button" onClick={onClose}>
          {t.cancel}
        </button>
      </p>
    </Dialog>
  );
}

/** Pages and actions whose names contain every word. */
function pagesFor(text: string): Place[] {
  const t = texts();
  const pages: [name: string, path: string, offered: boolean][] = [
    [t.overview, '', isAdministrator()],
    [t.users, 'users', true],
    [t.newUser, 'users/new', isAdministrator()],
    [t.integrations, 'integrations', true],
    [t.newIntegration, 'integrations/new', managesIntegrations()],
    [t.modules, 'modules', managesIntegrations()],
    [t.auditTrail, 'audit', isAdministrator()],
    [t.ownAccount, 'account', true],
    [t.changePassword, 'account/password', true],
    [t.sessions, 'account/sessions', true],
    [t.apiTokens, 'account/tokens', true],
    [t.secondFactor, 'account/second-factor', true],
    [t.about, 'about', true],
  ];
  const words = text.toLowerCase().split(/\s+/);
  return pages
    .filter(
      ([name, , offered]) => offered && words.every((word) => name.toLowerCase().includes(word)),
    )
    .map(([name, path]) => ({ name, kind: t.page, href: path ? `${BASE}/${path}` : BASE }));
}

/** In a long list, a rare piece is searched in all of it: not at every key that is pressed. */
const REST_MS = 400;
const PIECE_MIN = 3;

interface Found {
  readonly places: readonly Place[];
  /** Why one of the two lists is missing. */
  readonly problem: Problem | undefined;
}

/**
 * Users and integrations by a piece of their names, as soon as nobody types any more; undefined
 * before they are searched.
 */
function useFound(text: string): Found | undefined {
  const t = texts();
  const [found, setFound] = useState<Found>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text decides.
  useEffect(() => {
    setFound(undefined);
    const piece = text.trim();
    if (piece.length < PIECE_MIN) return undefined;
    let current = true;
    const timer = setTimeout(async () => {
      const [users, integrations] = await Promise.all([
        send('GET /api/users', { query: { 'text.contains': piece, size: 5 } }),
        send('GET /api/utm-integrations', { query: { 'name.contains': piece, size: 5 } }),
      ]);
      if (!current) return;
      const refused = [users, integrations].find(({ ok }) => !ok);
      const places = [
        ...(users.ok ? users.data : []).map(({ login, firstName, lastName }) => ({
          name: login,
          kind: [firstName, lastName].filter(Boolean).join(' ') || t.user,
          href: userPath(login),
        })),
        ...(integrations.ok ? integrations.data : []).map(({ id, name }) => ({
          name,
          kind: t.integration,
          href: integrationPath(id),
        })),
      ];
      setFound({ places, problem: refused && !refused.ok ? refused.problem : undefined });
    }, REST_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [text]);
  return found;
}

function Shortcuts({ onClose }: { onClose: () => void }) {
  const t = texts();
  const [on, setOn] = useState(hasShortcuts);
  const toggle = () => {
    localStorage.setItem(SHORTCUTS, on ? 'off' : 'on');
    setOn(!on);
  };
  const keys = [
    ['Ctrl K, /', t.goTo],
    ['?', t.shortcuts],
    ['Escape', t.shortcutClose],
    ['Enter', t.save],
    ['Down', t.shortcutFirstRow],
    ['Up, Down, Home, End', t.shortcutRows],
    ['Shift Space', t.shortcutRange],
  ] as const;
  return (
    <Dialog title={t.shortcuts} onClose={onClose}>
      <dl>{keys.map(([key, text]) => [<dt key={key}>{key}</dt>, <dd key={text}>{text}</dd>])}</dl>
      <p class="actions">
        <button type="button" aria-pressed={on} onClick={toggle}>
          {t.shortcutsSigns}
        </button>
        <button type="button" onClick={onClose}>
          {t.close}
        </button>
      </p>
    </Dialog>
  );
}
