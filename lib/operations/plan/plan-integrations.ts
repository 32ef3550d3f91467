import type { Change } from '../../audit/audit-entry.ts';
import { pick } from '../../contract/entity-fields.ts';
import { newIntegration } from '../../integrations/create-integration.ts';
import { parameterAdded } from '../../integrations/create-parameter.ts';
import { integrationDeleted } from '../../integrations/delete-integration.ts';
import { parameterDeleted } from '../../integrations/delete-parameter.ts';
import { EDITABLE_INTEGRATION_FIELDS, type Integration } from '../../integrations/integration.ts';
import {
  auditEventForIntegration,
  integrationChanges,
} from '../../integrations/integration-table.ts';
import { MASK, requireNewValue } from '../../integrations/parameter.ts';
import {
  bytesOf,
  type Parameter,
  parameterChanges,
  type StoredParameter,
} from '../../integrations/parameter-table.ts';
import { parameterChanged } from '../../integrations/update-parameter.ts';
import { changeTotal, nextVersion } from '../../table/write.ts';
import type { Files, IntegrationEntry, ParameterEntry } from './plan-contracts.ts';
import { managedElsewhere } from './plan-users.ts';
import type { PlannedChange, Planner, Refusal, StepServices } from './planned.ts';
import type { State } from './read-state.ts';

const REFUSALS = {
  ambiguous: {
    message: 'error.ambiguousname',
    reason: 'Several have the name: give the others another one first',
  },
  noSecret: {
    message: 'error.nosecret',
    reason: 'There is no secret to keep: give its name and version',
  },
} as const satisfies Record<string, Refusal>;

/** Plans the integrations of files with their parameters, and what is pruned. */
export function planIntegrations(files: Files, state: State, planner: Planner): PlannedChange[] {
  const wanted = new Set(files.integrations.map(({ name }) => name));
  // Others than the integrations of the files are in the state only if they are pruned.
  const leaving = state.integrations.filter(({ integration }) => !wanted.has(integration.name));
  return [
    ...files.integrations.flatMap((entry) => planIntegration(entry, files, state, planner)),
    ...leaving.map(planDeletion),
  ];
}

function planIntegration(
  entry: IntegrationEntry,
  { prune }: Files,
  state: State,
  { set }: Planner,
): PlannedChange[] {
  const [stored, ...others] = state.integrations.filter(
    ({ integration: { name } }) => name === entry.name,
  );
  const { integration, parameters = [] } = stored ?? {};
  const refused = others[0] ? REFUSALS.ambiguous : managedElsewhere(integration ?? {}, set);
  const fields = { ...pick(entry, EDITABLE_INTEGRATION_FIELDS), managedBy: set };
  const planned = integration
    ? planUpdate(integration, fields)
    : [planCreation({ active: true, ...fields })];
  const kept = new Set(entry.parameters.map(({ confName }) => confName));
  const gone = prune.includes('parameters')
    ? parameters.filter((each) => !kept.has(each.confName))
    : [];
  return [
    ...planned,
    // First, so that there is room for others.
    ...gone.map((parameter) => planParameterDeletion(entry.name, parameter)),
    ...entry.parameters.flatMap((each) => planParameter(entry.name, each, parameters, state)),
  ].map((change) => ({ ...change, refused: refused ?? change.refused }));
}

type IntegrationFields = Parameters<typeof newIntegration>[1];

const planCreation = (fields: IntegrationFields): PlannedChange => ({
  action: 'integration.created',
  name: fields.name,
  changes: integrationChanges(undefined, fields as unknown as Integration),
  phase: 'integrations',
  async step(services) {
    const after = newIntegration(services.nextIntegrationId(), fields);
    const changes = integrationChanges(undefined, after);
    return {
      writes: [changeTotal('INTEGRATION', 1)],
      events: [auditEventForIntegration('integration.created', after, changes)],
      integration: { before: undefined, after },
    };
  },
});

function planUpdate(integration: Integration, fields: Partial<IntegrationFields>): PlannedChange[] {
  const changes = integrationChanges(integration, { ...integration, ...fields });
  if (changes.length === 0) return [];
  return [
    {
      action: 'integration.updated',
      name: integration.name,
      changes,
      version: `${integration.version} ${integration.revision}`,
      phase: 'integrations',
      async step(services) {
        const before = stateOf(services, integration.name);
        const version = nextVersion(before.version);
        const after: Integration = { ...before, ...fields, version };
        return {
          writes: [],
          events: [auditEventForIntegration('integration.updated', before, changes)],
          integration: { before, after },
        };
      },
    },
  ];
}

/** The integration as the steps before have left it. */
const stateOf = ({ integrations }: StepServices, name: string): Integration =>
  integrations.get(name) as Integration;

const planDeletion = ({
  integration,
  parameters,
}: State['integrations'][number]): PlannedChange => ({
  action: 'integration.deleted',
  name: integration.name,
  changes: integrationChanges(integration, undefined),
  version: `${integration.version} ${integration.revision}`,
  phase: 'deletions',
  async step() {
    const { writes, event } = integrationDeleted(integration, parameters);
    return { writes, events: [event], bytes: integration.parameterBytes };
  },
});

/** What a plan shows of a value that is no secret, or of the version of a secret. */
const changeOf = (field: string, from: string | undefined, to: string | undefined): Change[] =>
  from === to ? [] : [{ field, from, to }];

const referenceText = (reference: StoredParameter['secretVersion']): string | undefined =>
  reference && `${reference.name} ${reference.version}`;

function planParameter(
  integrationName: string,
  entry: ParameterEntry,
  all: readonly Parameter[],
  { values }: State,
): PlannedChange[] {
  const { confName, confValue, secret } = entry;
  const [stored, ...others] = all.filter((each) => each.confName === confName);
  const reference = secret === 'keep' ? stored?.secretVersion : secret;
  const [from, to] = [stored?.secretVersion, reference].map(referenceText);
  const { confDescription } = { ...stored, ...pick(entry, ['confDescription']) };
  const isSecret: true | undefined = secret === undefined ? undefined : true;
  const after = { ...stored, confName, confDescription, secret: isSecret } as StoredParameter;
  const changes = [
    ...parameterChanges(stored, after),
    ...changeOf('confValue', stored && values.get(stored.id), confValue),
    ...changeOf('secretVersion', from, to),
  ];
  if (stored && changes.length === 0) return [];
  const fields = { confName, confDescription, ...(reference && { secretVersion: reference }) };
  const needed = from === to ? undefined : reference?.name;
  return [
    {
      action: stored ? 'parameter.updated' : 'parameter.created',
      name: confName,
      integrationName,
      changes,
      refused: refusalOfParameter(entry, stored, others),
      secret: needed,
      version: stored?.version,
      phase: 'integrations',
      async step(services) {
        const before = stateOf(services, integrationName);
        const seal = await services.seal(before.id);
        // The mask keeps the value of a secret, so it must not be the value itself.
        const value = (needed ? services.valueOf(needed) : confValue) ?? MASK;
        if (needed) requireNewValue(value, true);
        const written = { ...fields, secret: isSecret ?? false, confValue: value };
        const decided = stored
          ? parameterChanged(before, stored, written, seal, services.now)
          : parameterAdded(before, written, seal);
        return {
          writes: decided.writes,
          events: [decided.event],
          bytes: Math.max(stored?.bytes ?? 0, bytesOf(confName, value, confDescription)),
          integration: { before, after: decided.integration },
        };
      },
    },
  ];
}

function refusalOfParameter(
  { secret }: ParameterEntry,
  stored: Parameter | undefined,
  others: readonly Parameter[],
): Refusal | undefined {
  if (others.length > 0) return REFUSALS.ambiguous;
  return secret === 'keep' && !stored?.secret ? REFUSALS.noSecret : undefined;
}

const planParameterDeletion = (integrationName: string, parameter: Parameter): PlannedChange => ({
  action: 'parameter.deleted',
  name: parameter.confName,
  integrationName,
  changes: parameterChanges(parameter, undefined),
  version: parameter.version,
  phase: 'integrations',
  async step(services) {
    const before = stateOf(services, integrationName);
    const deleted = parameterDeleted(before, parameter);
    return {
      writes: deleted.writes,
      events: [deleted.event],
      bytes: parameter.bytes,
      integration: { before, after: deleted.integration },
    };
  },
});
