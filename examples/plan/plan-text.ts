import type { Plan } from '../client/types.gen.ts';

type Planned = Plan['changes'][number];

const SIGNS = { created: '+', updated: '~', deleted: '-' };

/** A plan for people: one line for each field, what is refused at the end, and a sum. */
export function planText({ changes, refused }: Plan): string {
  const made = changes.filter((change) => !change.refused);
  const others = changes.filter((change) => change.refused);
  const count = (verb: keyof typeof SIGNS) =>
    made.filter((change) => verbOf(change) === verb).length;
  const sum =
    `Plan: ${count('created')} to create, ${count('updated')} to change, ` +
    `${count('deleted')} to delete${refused > 0 ? `, ${refused} refused` : ''}.`;
  const nothing = changes.length === 0 ? ['Everything is as the files say.'] : [];
  return [...[...made, ...others].map(entryOf), ...nothing, sum].join('\n');
}

const verbOf = ({ action }: Planned) => action.split('.')[1] as keyof typeof SIGNS;

function entryOf(change: Planned): string {
  const { action, name, integrationName, changes, refused } = change;
  const [kind] = action.split('.');
  const owner = integrationName === undefined ? '' : ` of integration ${text(integrationName)}`;
  return [
    `${SIGNS[verbOf(change)]} ${kind} ${text(name)}${owner}`,
    ...changes.map((field) => `    ${fieldOf(field)}`),
    ...(refused ? [`    refused: ${refused.reason} (${refused.message})`] : []),
  ].join('\n');
}

function fieldOf(change: Planned['changes'][number]): string {
  const { field, from, to, added = [], removed = [] } = change;
  const parts = [
    from !== undefined && `${text(from)} →`,
    to === undefined ? from !== undefined && 'null' : text(to),
    ...added.map((value) => `+${value}`),
    ...removed.map((value) => `-${value}`),
  ];
  return `${field}: ${parts.filter(Boolean).join(' ')}`;
}

/** Quoted, so that a value with line breaks or control characters stays on its line. */
const text = (value: string | number | boolean): string => JSON.stringify(value);
