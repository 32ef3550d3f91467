import type { Integration } from '../../integrations/integration.ts';
import { revisionIs } from '../../integrations/integration-table.ts';
import { counted } from '../../runtime/counted.ts';
import { sleepJittered } from '../../runtime/waiting.ts';
import { sequenceKey, totalKey } from '../../table/item-kind.ts';
import {
  collectionOf,
  entityKey,
  type Kind,
  PARAMETERS_PER_INTEGRATION_EVER,
  parameterId,
  parametersRange,
  type Sequence,
} from '../../table/keys.ts';
import type { Item } from '../../table/table.ts';
import type { TableScanner } from '../../table/table-scanner.ts';
import {
  attributesAre,
  type Condition,
  changeTotal,
  set,
  withCondition,
} from '../../table/write.ts';
import { findDefect } from './find-defect.ts';
import { type Finding, keyLabel } from './finding.ts';
import { countedBytes, NO_PARAMETERS, type Survey } from './survey.ts';

/** The findings of a check; `undecided` says what kept changing and could not be verified. */
export interface Verdict {
  readonly findings: readonly Finding[];
  readonly undecided?: string;
}

/** How many times an item that keeps changing is read. */
const TRIES_MAX = 20;
/** How many equal mismatches in a row are a finding. */
const CONFIRMATIONS = 2;
/** The longest wait before an item is read again. */
const WAIT_MS_MAX = 100;

const NONE: Verdict = { findings: [] };

/**
 * Reads a range without the items of unknown kinds in it, such as copies made by hand: each is
 * reported by itself.
 */
async function entitiesIn(
  table: TableScanner,
  ...range: Parameters<TableScanner['range']>
): Promise<Item[]> {
  return (await table.range(...range)).filter(collectionOf);
}

/**
 * Repeats a check until it finds nothing, or the same twice in a row: a query may see only some
 * writes of a transaction that is already committed. The check returns undefined if what it read
 * has changed meanwhile.
 */
async function confirmed(
  check: () => Promise<readonly Finding[] | undefined>,
  undecided: string,
): Promise<Verdict> {
  let mismatch: string | undefined;
  let times = 0;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const findings = await check();
    if (findings?.length === 0) return NONE;
    const found = JSON.stringify(findings);
    times = found === mismatch ? times + 1 : 1;
    mismatch = found;
    if (findings && times === CONFIRMATIONS) return { findings };
    await sleepJittered(WAIT_MS_MAX);
  }
  return { findings: [], undecided };
}

/**
 * The item of a total. Items written before changes were counted have no `changes` until the next
 * one.
 */
interface Total {
  readonly n?: number;
  readonly changes?: number;
}

/**
 * Verifies that the total of a kind is the number of its items. Every creation and deletion changes
 * its `changes`.
 */
export async function verifyTotal(table: TableScanner, seen: Survey, kind: Kind): Promise<Verdict> {
  if (seen.totals[kind] === seen.counts[kind]) return NONE;
  const key = totalKey(kind);
  const check = async () => {
    const [before] = await table.snapshot([key]);
    const count = (await entitiesIn(table, kind)).length;
    const [after] = await table.snapshot([key]);
    if (after && findDefect(after)) return [];
    if (before?.changes !== after?.changes) return undefined;
    const total = (after ?? {}) as Total;
    return (total.n ?? 0) === count ? [] : [wrongTotal(kind, total, count)];
  };
  return confirmed(check, `${keyLabel(key)} could not be verified: it kept changing`);
}

function wrongTotal(kind: Kind, total: Total, count: number): Finding {
  const key = totalKey(kind);
  const difference = count - (total.n ?? 0);
  return {
    kind: 'wrong-total',
    keys: [key],
    message: `${keyLabel(key)} is ${total.n ?? 'absent'}, but the table holds ${count}.`,
    remedy: {
      description: `adds ${difference} to ${keyLabel(key)}`,
      writes: [withCondition(changeTotal(kind, difference), totalIs(total))],
    },
  };
}

/** Nothing was created, deleted or repaired since the total was read. */
const totalIs = ({ n, changes }: Total): Condition => attributesAre({ n, changes });

/**
 * Verifies that no id exceeds the sequence, which advances before an item is created and is read
 * after the scan.
 */
export async function verifySequence(
  table: TableScanner,
  seen: Survey,
  kind: Sequence,
): Promise<Verdict> {
  const key = sequenceKey(kind);
  const highest = seen.highestIds[kind];
  const [item] = await table.snapshot([key]);
  if ((item && findDefect(item)) || ((item?.n as number | undefined) ?? 0) >= highest) return NONE;
  const behind = {
    condition: 'attribute_not_exists(#n) OR #n < :highest',
    names: { '#n': 'n' },
    values: { ':highest': highest },
    onConditionFailed: 'retry',
  } as const;
  const finding: Finding = {
    kind: 'sequence-behind',
    keys: [key],
    message:
      `${keyLabel(key)} is ${item?.n ?? 'absent'}, but id ${highest} exists: ids would be ` +
      'assigned twice.',
    remedy: {
      description: `sets ${keyLabel(key)} to ${highest}`,
      writes: [set(key, { n: highest }, behind)],
    },
  };
  return { findings: [finding] };
}

/**
 * Verifies that each parameter belongs to an existing integration, and the parameter counters of
 * each integration.
 */
export async function verifyParameters(table: TableScanner, seen: Survey): Promise<Verdict> {
  const findings: Finding[] = [];
  const undecided: string[] = [];
  for (const id of new Set([...seen.integrations.keys(), ...seen.parameters.keys()])) {
    const integration = seen.integrations.get(id);
    const { count, highest, bytes } = seen.parameters.get(id) ?? NO_PARAMETERS;
    const countsAll =
      integration?.parameterCount === count && integration.parametersEver >= highest;
    if (countsAll && (integration.parameterBytes ?? 0) === bytes) continue;
    const verdict = await verifyParametersOf(table, id);
    findings.push(...verdict.findings);
    if (verdict.undecided) undecided.push(verdict.undecided);
  }
  return { findings, ...(undecided.length > 0 && { undecided: undecided.join('; ') }) };
}

/** Every change of an integration or its parameters increments its revision. */
async function verifyParametersOf(table: TableScanner, id: number): Promise<Verdict> {
  const key = entityKey('INTEGRATION', id);
  const canHaveParameters = Number.isSafeInteger(parameterId(id, 0));
  const check = async () => {
    const [before] = await table.snapshot([key]);
    const parameters = canHaveParameters
      ? await entitiesIn(table, 'CONF', parametersRange(id))
      : [];
    const [after] = await table.snapshot([key]);
    if (after && findDefect(after)) return [];
    if (before?.revision !== after?.revision) return undefined;
    return after
      ? wrongCounters(after as unknown as Integration, parameters)
      : parameters.map(({ sk }) => withoutIntegration(id, sk));
  };
  return confirmed(
    check,
    `the parameters of integration ${id} could not be verified: they kept changing`,
  );
}

function wrongCounters(integration: Integration, parameters: readonly Item[]): Finding[] {
  const { id, parameterCount, parametersEver, parameterBytes = 0 } = integration;
  const count = parameters.length;
  const highest = Number(parameters.at(-1)?.sk ?? 0) % PARAMETERS_PER_INTEGRATION_EVER;
  const bytes = parameters.reduce((sum, item) => sum + countedBytes(item), 0);
  if (parameterCount === count && parametersEver >= highest && parameterBytes === bytes) return [];
  const key = entityKey('INTEGRATION', id);
  const ever = Math.max(parametersEver, highest);
  const counters = {
    parameterCount: count,
    parametersEver: ever,
    parameterBytes: bytes,
    revision: integration.revision + 1,
    moduleRevision: integration.moduleRevision + 1,
  };
  return [
    {
      kind: 'wrong-parameter-counters',
      keys: [key],
      message:
        `Integration ${id} records ${counted(parameterCount, 'parameter')} with ` +
        `${counted(parameterBytes, 'byte')}, ` +
        `${parametersEver} ever created, but has ${count} with ${counted(bytes, 'byte')} ` +
        `and the highest number ${highest}.`,
      remedy: {
        description:
          `sets the counters of integration ${id} to ${counted(count, 'parameter')} with ` +
          `${counted(bytes, 'byte')}, ` +
          `${ever} ever created`,
        writes: [set(key, counters, revisionIs(integration))],
      },
    },
  ];
}

function withoutIntegration(id: number, sk: string): Finding {
  const key = { pk: 'CONF', sk };
  return {
    kind: 'parameter-without-integration',
    keys: [key, entityKey('INTEGRATION', id)],
    message: `Parameter ${keyLabel(key)} belongs to integration ${id}, which does not exist.`,
    remedy: {
      advice:
        'no other item holds the integration; restore it from a backup, or delete the ' +
        'parameter by hand and repair the total',
    },
  };
}
