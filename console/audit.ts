import type { AuditAction, AuditEntry } from './api/generated/types.gen.ts';
import type { Dictionary } from './languages/en.ts';
import { fill } from './text.ts';

type Change = AuditEntry['changes'][number];

/** The overview links to these, and the trail shows that filter in words. */
export const REFUSED_LOGINS: readonly AuditAction[] = [
  'login.failed',
  'login.throttled',
  'login.codeRejected',
];

/** The texts of the fields that neither have a text of their own name nor one in `fieldNames`. */
const NAMED_OTHERWISE = {
  activated: 'state',
  active: 'state',
  langKey: 'language',
  authorities: 'roles',
  integrationType: 'type',
  confName: 'name',
  confDescription: 'description',
  confValue: 'value',
  tokens: 'apiTokens',
};

/** What was done to what, without a full stop. */
export function actionOf({ actor, action, target, targetName }: AuditEntry, t: Dictionary): string {
  return fill(textIn(t.actions, action) ?? `{actor}: ${action} {target}`, {
    actor: textIn(t.actors, actor) ?? actor,
    target: targetName || target,
  });
}

export const fieldsOf = ({ changes }: AuditEntry, t: Dictionary): string =>
  [...new Set(changes.map(({ field }) => labelOf(field, t)))].join(', ');

function labelOf(field: string, t: Dictionary): string {
  const name = textIn(NAMED_OTHERWISE, field) ?? field;
  const text = textIn(t.fieldNames, name) ?? textIn(t, name);
  return typeof text === 'string' ? text : field;
}

/** A change with the values before and after it, where the entry has them. */
export function changeText(change: Change, t: Dictionary): string {
  const { field, from, to } = change;
  const label = labelOf(field, t);
  const value = to ?? from;
  if (typeof value === 'boolean') return `${label}: ${stateText(field, value, t)}`;
  const values = valuesText(change, (name) => textIn(t.roleNames, name) ?? name);
  return `${label}: ${values || t.changed}`;
}

function stateText(field: string, isOn: boolean, t: Dictionary): string {
  if (field === 'activated') return isOn ? t.activated : t.deactivated;
  if (field === 'active') return isOn ? t.active : t.inactive;
  return isOn ? t.factorState.on : t.factorState.off;
}

/** What became of a field, without words: `+ new`, `− former` or `former → new`. */
function valuesText(
  { from, to, added = [], removed = [] }: Change,
  nameOf = (name: string) => name,
): string {
  const members = [
    ...added.map((name) => `+ ${nameOf(name)}`),
    ...removed.map((name) => `− ${nameOf(name)}`),
  ];
  if (from === undefined) return [...members, ...(to === undefined ? [] : [to])].join(', ');
  return `${from} → ${to ?? '–'}`;
}

export const changesCell = (changes: readonly Change[]): string =>
  changes.map((change) => `${change.field}: ${valuesText(change) || '*'}`).join(' | ');

const textIn = <T>(texts: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(texts, name) ? texts[name] : undefined;
