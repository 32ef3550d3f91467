/* Pictures of 24 by 24, drawn with one stroke. They say nothing that is not beside them in words. */

const PATHS = {
  overview: 'M4 19V10m5 9V5m5 14v-7m5 7V8',
  users:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zm-6 9c0-3.5 2.5-6 6-6s6 2.5 6 6m1-9a3 3 0 0 0 0-6m5 15c0-2.5-1-4.5-3-5.5',
  integrations: 'M8 3v5m8-5v5M5 8h14v3a7 7 0 0 1-14 0zm7 10v3',
  modules: 'M7 7h10v10H7zm3-4v4m4-4v4m-4 10v4m4-4v4M3 10h4m-4 4h4m10-4h4m-4 4h4',
  audit: 'M6 3h12v18H6zm3 5h6m-6 4h6m-6 4h3',
  account: 'M12 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zm-8 10c0-4 3.5-7 8-7s8 3 8 7',
  about: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zm0-10v6m0-9.5v.5',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zm5-2 5 5',
  fold: 'M4 5h16v14H4zm5 0v14m6-9-2 2 2 2',
  more: 'M4 6h16M7 12h10m-7 6h4',
  columns: 'M4 5h16v14H4zm5 0v14m6-14v14',
  download: 'M12 4v11m-4-4 4 4 4-4M5 20h14',
  add: 'M12 5v14M5 12h14',
  check: 'M4 12l5 5L20 6',
  cross: 'M6 6l12 12M18 6L6 18',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zm0-14v5l3 3',
  alert: 'M12 3 2 20h20zm0 6v5m0 2.5v.5',
  shield: 'M12 3l8 3v6c0 4.5-3.5 8-8 9-4.5-1-8-4.5-8-9V6z',
  lock: 'M5 11h14v10H5zm3 0V7a4 4 0 0 1 8 0v4',
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d={PATHS[name]} />
  </svg>
);

export const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="7" />
    <path d="M6 25V9h3v2h2V9h3v2h4V9h3v2h2V9h3v16h-6v-5a4 4 0 0 0-8 0v5z" />
  </svg>
);

export type Tone = 'good' | 'plain' | 'warning' | 'bad' | 'accent';

/** A state in a word with a sign, so that colour is never alone. */
export const Badge = ({ tone, icon, text }: { tone: Tone; icon?: IconName; text: string }) => (
  <span class={`badge ${tone}`} translate={false}>
    {icon && <Icon name={icon} />}
    {text}
  </span>
);
