import type { Key } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import { type Condition, holds, parseCondition } from '../support/doubles/expressions.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { textOfCondition } from './conditions.ts';
import {
  callOf,
  type Explored,
  type Move,
  movesIn,
  type State,
  startOf,
  stateAfter,
} from './state.ts';
import { type Call, type Engine, type Reply, textOf, type World } from './worlds.ts';

/* Schedules as readers of the rules understand them, and as a line of text that repeats them. */

const EVENTS: Record<Exclude<Move['kind'], 'served'>, string> = {
  lost: 'and the response is lost',
  never: 'never arrives',
  busy: 'is refused because of a conflict',
  throttled: 'is throttled',
  dies: 'is under way when the process dies',
  repeats: 'is repeated by its client',
  arrives: 'arrives late',
};

/** A schedule to be read and to be repeated. */
export interface Schedule {
  /** One line per move: who, what, and with which reply. */
  readonly lines: readonly string[];
  /** The moves as `movesOf` reads them. */
  readonly text: string;
}

/** What a request has read: the item, and the step. */
type Reads = Map<string, { readonly item: Item | undefined; readonly step: number }>;

/** Describes a schedule. */
export async function scheduleOf(
  moves: readonly Move[],
  requests: readonly Explored[],
  engine: Engine,
  start: World,
): Promise<Schedule> {
  let state: State = await startOf(requests, start, Number.POSITIVE_INFINITY);
  const lines: string[] = [];
  const texts: string[] = [];
  const reads = requests.map((): Reads => new Map());
  const isTwice = new Set(requests.map(({ name }) => name)).size < requests.length;
  const names = requests.map(({ name }, at) => (isTwice ? `(${at + 1}) ${name}` : name));
  for (const [position, move] of moves.entries()) {
    texts.push(textOfMove(state, move));
    const { world } = state;
    const call = callOf(state, move);
    const { reply } = call ? engine.execute(call, world) : { reply: undefined };
    state = await stateAfter(state, move, { engine, requests });
    const name = names[move.process] ?? 'a process that has died';
    const { outcome } = state.processes[move.process]?.node ?? {};
    const read = reads[move.process] ?? new Map();
    if (move.kind === 'repeats') read.clear();
    const isServed = move.kind === 'served' || move.kind === 'lost';
    const event = [
      isServed && call && reply ? replied(call, reply, world, read) : '',
      move.kind === 'served' ? '' : EVENTS[move.kind],
    ];
    if (move.kind === 'served' && call && 'keys' in call)
      for (const key of call.keys)
        read.set(nameOf(key), { item: world.items.get(nameOf(key)), step: position + 1 });
    lines.push(
      `${position + 1}. ${name}: ` +
        [call && described(call, world), ...event].filter(Boolean).join(' ') +
        (outcome ? ` => ${shortened(outcome.text)}` : ''),
    );
  }
  return { lines, text: texts.join(' ') };
}

const LENGTH_MAX = 100;

function shortened(text: string): string {
  const [line = ''] = text.split('\n');
  return line.length > LENGTH_MAX ? `${line.slice(0, LENGTH_MAX)}…` : line;
}

/** The name of an item, as far as there is a better one than its key. */
function textOfKey({ pk, sk }: Key, { items }: World): string {
  const item = items.get(nameOf({ pk, sk }));
  if (pk.startsWith('RESET#')) return 'the reset key';
  if (sk === 'GUARD') return pk;
  const name = item?.login ?? item?.name ?? item?.confName ?? sk;
  return `${pk} ${name}`.replace(/(?<=[ #])0+(?=\d)/g, '');
}

function described(call: Call, world: World): string {
  if (call.operation === 'query') return `reads ${call.pk}`;
  if ('keys' in call) return `reads ${call.keys.map((key) => textOfKey(key, world)).join(', ')}`;
  const written = call.writes.filter(({ key }) => !/^(AUDIT|MAIL|TOTAL)/.test(key.pk));
  const shown = written.length > 0 ? written : call.writes;
  return `commits ${shown.map(({ act, key }) => `${act} ${textOfKey(key, world)}`).join(', ')}`;
}

function replied(call: Call, { codes, error, items }: Reply, world: World, read: Reads): string {
  if (error) return '(rejected)';
  if ('keys' in call) {
    const absent = call.keys.filter((_, position) => !items?.[position]);
    return absent.length > 0
      ? `(absent: ${absent.map((key) => textOfKey(key, world)).join(', ')})`
      : '';
  }
  if (!('writes' in call)) return '';
  if (!codes) return [...read].flatMap((entry) => outdated(entry, world) ?? []).join(' and ');
  const failed = call.writes.filter((_, position) => codes[position] !== 'None');
  return `(refused: ${failed.map((write) => unmet(write, world)).join('; ')})`;
}

/** The parts of a condition that do not hold. */
function unmet(write: Write, world: World): string {
  const item = world.items.get(nameOf(write.key));
  const partsOf = (tree: Condition): readonly Condition[] =>
    tree.kind === 'and' ? tree.parts.flatMap(partsOf) : [tree];
  const failed = partsOf(parseCondition(write.condition ?? ''))
    .filter((part) => !holds(part, item, write))
    .map((part) => textOfCondition(part, write.names ?? {}));
  return `${textOfKey(write.key, world)}, because not ${failed.join(', not ')}`;
}

/** That an item has changed since a request read it, on which its commit may depend. */
function outdated([name, { item, step }]: [string, ReturnType<Reads['get']> & {}], world: World) {
  const now = world.items.get(name);
  if (now === item) return undefined;
  const of = textOfKey((now ?? item) as Item, world);
  if (!now || !item) return `although ${of} ${now ? 'exists' : 'is gone'} since step ${step}`;
  const changed = Object.keys({ ...item, ...now }).filter(
    (attribute) => textOf([item[attribute]]) !== textOf([now[attribute]]),
  );
  return `although ${of} has another ${changed.join(', ')} since step ${step}`;
}

/*
 * Schedules as a line of text, to be repeated: `1 2 2.1 1:lost` serves the first call of request 1
 * and the first two of request 2, and loses the response of the next of request 1. Request 0 stands
 * for what is under way without a process.
 */

/** The text of a move in a state. */
function textOfMove({ underWay }: State, { process, call, kind }: Move): string {
  const position = process < 0 ? underWay.findIndex(({ id }) => id === call) : call;
  const suffix = kind === 'served' ? '' : `:${kind}`;
  return `${process + 1}${position > 0 ? `.${position}` : ''}${suffix}`;
}

/** The moves of a text, which names moves of each state in turn. Throws if one is not possible. */
export async function movesOf(
  text: string,
  requests: readonly Explored[],
  engine: Engine,
  start: World,
): Promise<Move[]> {
  let state = await startOf(requests, start, Number.POSITIVE_INFINITY);
  const moves: Move[] = [];
  for (const name of text.trim().split(/\s+/)) {
    const before = state;
    const move = movesIn(before).find((each) => textOfMove(before, each) === name);
    if (!move) throw new Error(`${name} is not possible after ${moves.length} moves`);
    moves.push(move);
    state = await stateAfter(before, move, { engine, requests });
  }
  return moves;
}
