import type { AuditEntry } from '../examples/client/types.gen.ts';
import type { Dictionary } from './languages/en.ts';
import { fill } from './text.ts';

/** An entry of the audit trail as sentences. */
export function sentenceOf(entry: AuditEntry, t: Dictionary): string {
  const { actor, action, target, targetName, fields, source, integrationName } = entry;
  const known = Object.hasOwn(t.actions, action);
  const sentence = fill(known ? t.actions[action] : `{actor}: ${action} {target}`, {
    actor,
    target: targetName || target,
  });
  const isOfParameter = target.startsWith('parameter/');
  return [
    `${sentence}.`,
    isOfParameter && integrationName && fill(t.ofIntegration, { name: integrationName }),
    fields.length > 0 && fill(t.changedFields, { fields: fields.join(', ') }),
    source && fill(t.fromAddress, { source }),
  ]
    .filter(Boolean)
    .join(' ');
}
