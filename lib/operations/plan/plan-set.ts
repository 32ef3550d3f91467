import * as v from 'valibot';
import { count, type ItemDeclaration, totalKey } from '../../table/item-kind.ts';
import type { Key } from '../../table/keys.ts';
import type { Table } from '../../table/table.ts';
import { attributesAre, set, withConditionOn } from '../../table/write.ts';
import type { Chunk } from './chunks.ts';

const planSetKey = (name: string): Key => ({ pk: `PLAN-SET#${name}`, sk: 'APPLIED' });
/** Counts the transactions that have applied files of a set. */
export const planSetItem: ItemDeclaration = {
  pk: 'PLAN-SET#<set>',
  sk: 'APPLIED',
  name: 'applications of a set of files',
  attributes: () => v.object({ n: count }),
  onForget: 'keep',
  onRestore: 'keep',
};

/**
 * Returns a function that adds to each transaction of an application, in their order, what no
 * version tells: that nobody else has applied files of the set since, who could have changed what
 * the plan leaves as it is; and if it creates integrations, that no other was created or deleted,
 * because names have no guards. To be called before the state is read that the plan is made of.
 */
export async function openConditions(
  table: Table,
  setName: string,
): Promise<(chunk: Chunk) => Chunk> {
  const [former, total] = await table.getAll([planSetKey(setName), totalKey('INTEGRATION')]);
  let applied = former?.n as number | undefined;
  let totalChanges = total?.changes as number | undefined;
  return (chunk) => {
    const isNext = attributesAre({ n: applied });
    const isSame = attributesAre({ changes: totalChanges });
    applied = (applied ?? 0) + 1;
    const writes = [...chunk.writes, set(planSetKey(setName), { n: applied }, isNext)];
    if (chunk.created === 0) return { ...chunk, writes };
    totalChanges = (totalChanges ?? 0) + chunk.created;
    return { ...chunk, writes: withConditionOn(totalKey('INTEGRATION'), isSame, writes) };
  };
}
