import { type Explored, type Move, movesIn, type State, startOf, stateAfter } from './state.ts';
import type { Engine, World } from './worlds.ts';

/*
 * Schedules as a line of text, to be repeated: `1 2 2.1 1:lost` serves the first call of request 1
 * and the first two of request 2, and loses the response of the next of request 1. Request 0 stands
 * for what is under way without a process.
 */

/** The text of a move in a state. */
export function textOfMove({ underWay }: State, { process, call, kind }: Move): string {
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
