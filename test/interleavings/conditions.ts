import type { Write } from '../../lib/table/write.ts';
import { type Condition, holds, parseCondition } from '../support/doubles/expressions.ts';
import { getOrMake, type HoldsFor, type Request } from './worlds.ts';

/* What each part of each condition is for: the shortest schedule that breaks without it. */

/**
 * The function in lib that makes the writes of users and integrations, by the handlers that use it.
 * A part of a condition stands or falls for all of them.
 */
const WRITERS: Readonly<Record<string, readonly string[]>> = {
  creation: ['create-user', 'first-administrator'],
  modification: ['update-user', 'update-account', 'confirm-email'],
  setPassword: ['change-password', 'finish-reset'],
  factorChange: [
    'request-second-factor',
    'confirm-second-factor',
    'disable-second-factor',
    'replace-recovery-codes',
    'remove-second-factor',
  ],
  sessionEndings: [
    'log-out',
    'end-session',
    'end-other-sessions',
    'end-user-session',
    'end-user-sessions',
  ],
  integrationChanged: [
    'update-integration',
    'report-restart',
    'create-parameter',
    'update-parameter',
    'delete-parameter',
    'create-credential',
    'delete-credential',
  ],
  tokensChanged: ['create-token', 'delete-token', 'delete-user-token'],
  identitiesChanged: ['link-identity', 'link-own-identity', 'unlink-identity'],
  recordReport: ['report-module', 'read-module'],
};

/** A condition without one of its parts. */
interface Mutant {
  /** Where the condition comes from, and the part that is removed. */
  readonly name: string;
  /** What is left; undefined if nothing is. */
  readonly left: Condition | undefined;
}

/** Every condition of a write without one part of it. */
function mutantsOf(write: Write, { handler }: Request): readonly Mutant[] {
  const partition = write.key.pk.replace(/#.*/, '');
  // Counts of attempts and of mails are no rule that a schedule could break.
  if (!write.condition || ['ATTEMPTS', 'MAILS'].includes(partition)) return [];
  // An application changes most by functions that have a row for other handlers.
  const isOwn = write.act === 'ConditionCheck' || ['TOTAL', 'PLAN-SET'].includes(partition);
  if (handler === 'apply-plan' && !isOwn) return [];
  const [writer = handler] =
    Object.entries(WRITERS).find(([, handlers]) => handlers.includes(handler)) ?? [];
  return withoutOne(parseCondition(write.condition)).map(({ removed, left }) => {
    const part = textOfCondition(removed, write.names ?? {});
    const isOfCaller = partition === 'TOKEN' || /#caller/.test(JSON.stringify(removed));
    return {
      name: isOfCaller
        ? `caller | ${partition} | ${part}`
        : `${writer} | ${write.act} ${partition} | ${part}`,
      left,
    };
  });
}

/** A tree without one part of a conjunction, or without itself. */
function withoutOne(tree: Condition): { readonly removed: Condition; readonly left?: Condition }[] {
  if (tree.kind === 'and' || tree.kind === 'or')
    return tree.parts.flatMap((part, at) =>
      withoutOne(part)
        // A disjunction loses parts of its parts only: without a whole part it would be stricter.
        .filter(({ left }) => tree.kind === 'and' || left)
        .map(({ removed, left }) => {
          const parts = left ? tree.parts.with(at, left) : tree.parts.toSpliced(at, 1);
          return {
            removed,
            left: parts.length === 1 ? (parts[0] as Condition) : { ...tree, parts },
          };
        }),
    );
  return [{ removed: tree }];
}

/** A condition as a text. */
export function textOfCondition(tree: Condition, names: Readonly<Record<string, string>>): string {
  if (tree.kind === 'not') return `NOT ${textOfCondition(tree.part, names)}`;
  if (tree.kind !== 'test')
    return tree.parts
      .map((part) => textOfCondition(part, names))
      .join(tree.kind === 'and' ? ' AND ' : ' OR ');
  const [first, second] = tree.operands.map(({ text, isSize }) => {
    const name = names[text] ?? text;
    return isSize ? `size(${name})` : name;
  });
  // The two forms of `attributesAre`.
  if (tree.name === '=' || (tree.name === 'attribute_not_exists' && first !== 'pk'))
    return `${first} is as expected`;
  if (/^\w/.test(tree.name)) return `${tree.name}(${[first, second].filter(Boolean).join(', ')})`;
  return `${first} ${tree.name} ${second}`;
}

const known = new Map<string, readonly Mutant[]>();

const knownMutantsOf = (write: Write, by: Request): readonly Mutant[] =>
  getOrMake(known, `${by.handler} ${write.act} ${write.key.pk} ${write.condition}`, () =>
    mutantsOf(write, by),
  );

/** Evaluates conditions as they are written, and adds the names of their mutants. */
export const noting =
  (names: Set<string>): HoldsFor =>
  (write, item, by) => {
    for (const { name } of knownMutantsOf(write, by)) names.add(name);
    return holds(write.condition, item, write);
  };

/** Evaluates conditions without the part that a mutant lacks. */
export const without =
  (name: string): HoldsFor =>
  (write, item, by) => {
    const mutant = knownMutantsOf(write, by).find((each) => each.name === name);
    return holds(mutant ? mutant.left : write.condition, item, write);
  };
