import { describe, expect, it } from 'vitest';
import {
  formatKey,
  NewerFormat,
  READABLE_FORMAT,
  raiseFormat,
  requireReadable,
  WRITTEN_FORMAT,
  withGuard,
} from '../../lib/table/format.ts';
import type { Item } from '../../lib/table/table.ts';
import { put } from '../../lib/table/write.ts';
import { awsError } from '../support/doubles/aws-calls.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';

const stored = (format: number): Item => ({ ...formatKey, format });
const NEWER = stored(READABLE_FORMAT + 1);
const other = put({ pk: 'OTHER', sk: 'OTHER' }, {});

describe('a stored format', () => {
  it.each([
    ['a lower one', stored(WRITTEN_FORMAT - 1), WRITTEN_FORMAT - 1, 1],
    ['the one that this code writes', stored(WRITTEN_FORMAT), WRITTEN_FORMAT, 0],
    ['the newest that this code understands', stored(READABLE_FORMAT), READABLE_FORMAT, 0],
  ])('is readable, and raised if it is lower: %s', (_, item, format, writes) => {
    expect(requireReadable(item)).toBe(format);
    expect(raiseFormat(item).writes).toHaveLength(writes);
  });

  it('is neither read nor raised if it is newer, and the message names both numbers', () => {
    const message =
      `The table has the format ${READABLE_FORMAT + 1}, but this release understands none ` +
      `above ${READABLE_FORMAT}`;

    expect(() => requireReadable(NEWER)).toThrow(message);
    expect(() => raiseFormat(NEWER)).toThrow(NewerFormat);
  });
});

describe('a guarded table', () => {
  const openGuarded = (items: readonly Item[]) => {
    const table = memoryTable(items);
    return {
      table,
      guarded: withGuard(table),
    };
  };
  const unavailable = { code: 'unavailable', cause: expect.any(NewerFormat) };

  it('is checked by its first reads, in parallel with them, and by no later use', async () => {
    const { table, guarded } = openGuarded([stored(WRITTEN_FORMAT)]);

    await Promise.all([guarded.get(other.key), guarded.query('OTHER')]);
    await guarded.getAll([other.key]);
    await guarded.transact([other], '');

    expect(table.calls).toEqual(['get OTHER', 'get FORMAT', 'query OTHER', 'getAll 1']);
  });

  it('rejects every use while it is newer, and none afterwards', async () => {
    const { table, guarded } = openGuarded([NEWER]);
    const uses = [
      () => guarded.get(other.key),
      () => guarded.getAll([other.key]),
      () => guarded.query('OTHER'),
      () => guarded.nextId('USER'),
      () => guarded.update(other),
      () => guarded.transact([other], ''),
    ];

    for (const use of uses) await expect(use()).rejects.toMatchObject(unavailable);
    expect([table.changed(), table.updates]).toEqual([{}, []]);

    await table.transact([put(formatKey, { format: READABLE_FORMAT })], '');
    for (const use of uses) await use();
  });

  it('is checked again after a read of the format that failed', async () => {
    const { table, guarded } = openGuarded([stored(WRITTEN_FORMAT)]);
    const outage = awsError('TimeoutError');
    const get = table.get;
    table.get = async () => {
      table.get = get;
      throw outage;
    };

    await expect(guarded.query('OTHER')).rejects.toBe(outage);
    expect(await guarded.query('OTHER')).toEqual([]);
  });

  it('is stored once before the first writes, apart from them', async () => {
    const { table, guarded } = openGuarded([]);

    await guarded.get(formatKey);
    expect(table.find(formatKey)).toBeUndefined();
    await Promise.all([guarded.nextId('USER'), guarded.transact([other], '')]);

    expect(table.transactions).toEqual([[expect.objectContaining({ key: formatKey })], [other]]);
    expect(table.find(formatKey)).toEqual(stored(WRITTEN_FORMAT));
  });

  it('never lowers a format that another function has raised meanwhile', async () => {
    const { table, guarded } = openGuarded([]);
    table.concurrent.push([put(formatKey, { format: READABLE_FORMAT + 1 })]);

    await expect(guarded.transact([other], '')).rejects.toMatchObject(unavailable);

    expect(table.find(formatKey)).toEqual(NEWER);
    expect(table.find(other.key)).toBeUndefined();
  });
});
