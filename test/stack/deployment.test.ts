import { CfnResource } from 'aws-cdk-lib';
import { describe, expect, it } from 'vitest';
import type { Settings } from '../../infra/settings/settings.ts';
import { CANARY_ROUTES, routeId } from '../../infra/stack/constructs/endpoint-function.ts';
import { consoleRoutes, type Route, routes } from '../../routes.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import {
  propertiesOf,
  type Resource,
  resourcesOf,
  synthesizeInProcess,
  templateOf,
} from '../support/stack/stack.ts';

const prod = templateOf('prod');
const dev = templateOf('dev');
/** One row for each function: the rows of the console share one. */
const served = [...routes, ...consoleRoutes.slice(0, 1)];

/** Of the 500 that CloudFormation accepts; the rest is for the next endpoints. */
const RESOURCES_MAX = 440;

it('the stack with all options has at most 440 resources, and five for an endpoint', () => {
  const all = { ...OTHER_SETTINGS, alarms: 'operators@example.com' };
  const resources = synthesizeInProcess('prod', all)
    .node.findAll()
    .filter((node) => CfnResource.isCfnResource(node));
  const ofEndpoint = (row: Route) =>
    resources.filter(({ node }) =>
      node.path
        .split('/')
        .some((part) => part.replace(/-(role|integration)$/, '') === routeId(row)),
    ).length;

  expect(resources.length).toBeLessThanOrEqual(RESOURCES_MAX);
  expect(routes.filter((row) => !CANARY_ROUTES.includes(row.route) && ofEndpoint(row) > 5)).toEqual(
    [],
  );
  // A version, an alias, a policy and a group.
  expect(routes.filter((row) => CANARY_ROUTES.includes(row.route) && ofEndpoint(row) > 9)).toEqual(
    [],
  );
});

it('no resource depends on itself, not even through the update policy of an alias', () => {
  const resources: Record<string, Resource> = prod.toJSON().Resources;
  const dependencies = (id: string) => [
    ...(resources[id]?.DependsOn ?? []),
    ...[...JSON.stringify(resources[id]).matchAll(/"(?:Ref|Fn::GetAtt)":\[?"(\w+)"/g)].map(
      ([, to = '']) => to,
    ),
  ];
  const finished = new Set<string>();
  const visit = (id: string, path: readonly string[]) => {
    expect(path).not.toContain(id);
    if (finished.has(id)) return;
    for (const to of dependencies(id)) visit(to, [...path, id]);
    finished.add(id);
  };

  for (const id of Object.keys(resources)) visit(id, []);
});

it('creates at most eight routes and integrations at once', () => {
  const resources: Record<string, Resource> = templateOf('prod', OTHER_SETTINGS).toJSON().Resources;
  const limited = (id: string) =>
    /ApiGatewayV2::(Route|Integration)/.test(resources[id]?.Type ?? '');
  // What has no predecessor, or shares it with another, is created together with others.
  const first = new Set<string>();
  const followers = new Map<string, string>();
  for (const id of Object.keys(resources).filter(limited)) {
    const waitsFor = (resources[id]?.DependsOn ?? []).filter(limited);
    if (waitsFor.length === 0) first.add(id);
    for (const before of waitsFor) {
      expect(followers.get(before)).toBeUndefined();
      followers.set(before, id);
    }
  }

  expect(first.size).toBe(8);
});

describe('a deployment', () => {
  const aliases = (template: typeof prod) =>
    Object.entries(resourcesOf(template, 'AWS::Lambda::Alias'));
  const policyOf = (alias: Resource) =>
    (alias as { UpdatePolicy?: Resource['Properties'] }).UpdatePolicy;
  const functions = resourcesOf(prod, 'AWS::Lambda::Function');
  const canaries = aliases(prod).filter(([, alias]) => policyOf(alias));

  it.each([dev, prod])(
    'moves each alias of the canary to a version of its function',
    (template) => {
      const versions = resourcesOf(template, 'AWS::Lambda::Version');

      const moved = aliases(template).map(([, { Properties }]) => {
        const [version] = Properties.FunctionVersion['Fn::GetAtt'];
        expect(versions[version]?.Properties.FunctionName).toEqual(Properties.FunctionName);
        return Properties.FunctionName.Ref;
      });
      expect(new Set(moved).size).toBe(CANARY_ROUTES.length);
    },
  );

  it('publishes a version if what it would contain has changed, and only then', () => {
    const versionsOf = (changes: Partial<Settings>) =>
      Object.keys(resourcesOf(templateOf('prod', changes), 'AWS::Lambda::Version')).sort();
    const versions = versionsOf({});

    expect(versionsOf({ loginConcurrency: 99 })).toEqual(versions);
    expect(versionsOf({ auditDays: 99 }).filter((id) => versions.includes(id))).toEqual([]);
  });

  it('sends requests to the alias of the canary, and to the functions of all other routes', () => {
    const uris = propertiesOf(prod, 'AWS::ApiGatewayV2::Integration').map(
      ({ IntegrationUri }) => IntegrationUri,
    );
    const isAlias = ({ Ref }: { Ref?: string }) => canaries.some(([id]) => id === Ref);

    expect(uris.filter(isAlias)).toHaveLength(canaries.length);
    expect(uris.filter((uri) => !isAlias(uri)).map((uri) => uri['Fn::GetAtt'][1])).toEqual(
      Array.from({ length: served.length - canaries.length }, () => 'Arn'),
    );
  });

  it('alone updates the runtime of functions that hash passwords', () => {
    const policy = { UpdateRuntimeOn: 'FunctionUpdate' };
    const pinned = Object.values(functions).flatMap(({ Properties }) => {
      const { RuntimeManagementConfig: config, Description } = Properties;
      if (config) expect(config).toEqual(policy);
      return config ? [Description] : [];
    });
    for (const { FunctionName, RuntimePolicy } of propertiesOf(prod, 'AWS::Lambda::Version'))
      expect(RuntimePolicy).toEqual(
        functions[FunctionName.Ref]?.Properties.RuntimeManagementConfig,
      );

    const hashing = routes.filter(({ permissions }) => permissions.keys?.includes('pepper'));
    expect(pinned.sort()).toEqual(hashing.map(({ route }) => route).sort());
  });

  it('happens at once in dev', () => {
    expect(aliases(dev).flatMap(([, alias]) => policyOf(alias) ?? [])).toEqual([]);
    expect(aliases(dev).flatMap(([, { DependsOn }]) => DependsOn ?? [])).toEqual([]);
    expect(resourcesOf(dev, 'AWS::CodeDeploy::DeploymentGroup')).toEqual({});
  });

  it('is a canary in prod, which rolls back on the alarms of deployments', () => {
    const groups = resourcesOf(prod, 'AWS::CodeDeploy::DeploymentGroup');
    const alarms = Object.entries(resourcesOf(prod, 'AWS::CloudWatch::Alarm')).flatMap(
      ([id, { Properties }]) =>
        /-(server-errors|defects|failed-invocations)$/.test(Properties.AlarmName)
          ? [{ Name: { Ref: id } }]
          : [],
    );
    const used = canaries.map(
      ([, alias]) => policyOf(alias)?.CodeDeployLambdaAliasUpdate.DeploymentGroupName.Ref,
    );

    expect(alarms).toHaveLength(3);
    expect(used.sort()).toEqual(Object.keys(groups).sort());
    for (const { Properties } of Object.values(groups))
      expect(Properties).toMatchObject({
        AlarmConfiguration: { Enabled: true, Alarms: alarms },
        AutoRollbackConfiguration: {
          Enabled: true,
          Events: expect.arrayContaining(['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM']),
        },
        DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent10Minutes',
      });
  });

  it('tries the log-in, one read, one change and a token of a module in prod, all at once', () => {
    const tried = canaries.map(
      ([, { Properties }]) => functions[Properties.FunctionName.Ref]?.Properties.Description,
    );

    expect(tried.sort()).toEqual([
      'GET /api/users',
      'POST /api/authenticate',
      'POST /api/oauth2/token',
      'PUT /api/users',
    ]);
    expect(canaries.flatMap(([, { DependsOn }]) => DependsOn ?? [])).toEqual([]);
  });

  it('updates every other function of a route, and its role, only after the canary', () => {
    const waitedFor = canaries.map(([id]) => id);
    const tried = canaries.map(([, { Properties }]) => Properties.FunctionName.Ref);
    const waiting = Object.entries(functions).filter(
      ([id, { Properties }]) => !tried.includes(id) && /^[A-Z]+ \//.test(Properties.Description),
    );

    expect(waiting).toHaveLength(served.length - canaries.length);
    const roles = resourcesOf(prod, 'AWS::IAM::Role');
    for (const [, { Properties, DependsOn }] of waiting) {
      expect(DependsOn).toEqual(expect.arrayContaining(waitedFor));
      expect(roles[Properties.Role['Fn::GetAtt'][0]]?.DependsOn).toEqual(
        expect.arrayContaining(waitedFor),
      );
    }
  });
});

describe('the role of a function', () => {
  /** The logical ids of the role and the policy of a route's function. */
  const idsOf = (template: typeof prod, route: string) => {
    const functions = propertiesOf(template, 'AWS::Lambda::Function');
    const role = functions.find((fn) => fn.Description === route)?.Role['Fn::GetAtt'][0];
    const [[policy] = []] = Object.entries(resourcesOf(template, 'AWS::IAM::Policy')).filter(
      ([, { Properties }]) => Properties.Roles.some(({ Ref }: { Ref: string }) => Ref === role),
    );
    return { role, policy };
  };
  const rotating = templateOf('prod', { signingKeys: ['SigningKey2', 'SigningKey'] });

  it('never changes, because an alias cannot lead to versions with different roles', () => {
    const adopting = templateOf('prod', {
      existing: { tableStream: 'arn:aws:dynamodb:::table/restored/stream/1' },
    });
    for (const { route } of served) {
      const roles = [prod, rotating, adopting].map((template) => idsOf(template, route).role);
      expect(new Set(roles).size).toBe(1);
    }
  });

  it('of the canary has another policy with another name when its permissions change', () => {
    const [before = '', after = ''] = [prod, rotating].map(
      (template) => idsOf(template, 'POST /api/authenticate').policy,
    );

    expect(after).not.toBe(before);
    const nameOf = (template: typeof prod, id: string) =>
      resourcesOf(template, 'AWS::IAM::Policy')[id]?.Properties.PolicyName;
    expect(nameOf(rotating, after)).not.toBe(nameOf(prod, before));
  });

  it('of the canary has the same policy when they do not', () => {
    expect(idsOf(rotating, 'GET /api/users')).toEqual(idsOf(prod, 'GET /api/users'));
    expect(idsOf(templateOf('prod', { auditDays: 7 }), 'POST /api/authenticate')).toEqual(
      idsOf(prod, 'POST /api/authenticate'),
    );
  });

  it('has its policy, in itself or attached, before the function is updated', () => {
    for (const { Properties, DependsOn } of Object.values(
      resourcesOf(prod, 'AWS::Lambda::Function'),
    )) {
      const { role, policy } = idsOf(prod, Properties.Description);
      const { Policies } = resourcesOf(prod, 'AWS::IAM::Role')[role]?.Properties ?? {};
      expect([Policies, policy].filter((found) => found !== undefined)).toHaveLength(1);
      expect(DependsOn).toEqual(expect.arrayContaining(policy ? [role, policy] : [role]));
    }
  });
});
