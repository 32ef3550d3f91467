import { Duration } from 'aws-cdk-lib';
import {
  Alias,
  type CfnFunction,
  type CfnVersion,
  RuntimeManagementMode,
  Version,
} from 'aws-cdk-lib/aws-lambda';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { PARTITION } from '../../../lib/operations/item-kinds.ts';
import type { Route } from '../../../routes.ts';
import { issuerVariables } from '../../settings/issuers.ts';
import { type Deployment, GatehouseFunction, nameByContent } from './gatehouse-function.ts';

/**
 * The log-in, one read, one change and the tokens of modules: together they contain most of the
 * code that functions share. With a group for each function, dozens of deployments would run at
 * once, whose calls AWS limits.
 */
export const CANARY_ROUTES: readonly Route['route'][] = [
  'POST /api/authenticate',
  'GET /api/users',
  'PUT /api/users',
  'POST /api/oauth2/token',
];

/** The routes whose functions know the identity providers of people, and of modules. */
const ISSUER_ROUTES: readonly Route['route'][] = [
  'POST /api/oauth2/token',
  'GET /api/issuers',
  'POST /api/issuers/preview',
  'POST /api/account/identities',
  'POST /api/users/{login}/identities',
  'GET /console',
];
const MODULE_ISSUER_ROUTES: readonly Route['route'][] = [
  'POST /api/oauth2/token',
  'GET /api/module-issuers',
  'POST /api/utm-integrations/{id}/credentials',
];

/**
 * For functions that hash passwords: argon2 depends on Node and on the OpenSSL of the runtime, and
 * without it nobody can log in. These keep the runtime version of their last change, so that a
 * canary tries a new one. All others get patches by themselves.
 * https://docs.aws.amazon.com/lambda/latest/dg/runtime-management-rollback.html
 */
const RUNTIME_UPDATES = RuntimeManagementMode.FUNCTION_UPDATE;

/** The function of a row of `routes.ts`, and of the rows that have the same handler. */
export class EndpointFunction extends GatehouseFunction {
  readonly route: Route['route'];
  /**
   * The version that serves requests, only of the routes of the canary: a version and an alias for
   * each function would be two of the 500 resources that a stack may have.
   */
  readonly live: Alias | undefined;

  constructor(scope: Construct, row: Route, deployment: Deployment, log: LogGroup) {
    const { route, handler, contract, permissions, strictThrottle } = row;
    const { settings } = deployment;
    const { tokenLife, auditDays, failuresPerSource, corsOrigins, edge, loginConcurrency } =
      settings;
    const { deletionEndsSessions, confirmEmailChanges, passwords, secondFactor, ssoOnly } =
      settings;
    const createsTokens = contract.failures?.includes('too-many-tokens');
    const setsPassword = contract.failures?.includes('common-password');
    const isPublic = contract.access === 'public';
    const hashesPasswords = permissions.keys?.includes('pepper') === true;
    const hasVersions = CANARY_ROUTES.includes(route);
    super(scope, routeId(row), deployment, {
      file: handler,
      hasVersions,
      log,
      description: route,
      ...(hashesPasswords && { runtimeManagementMode: RUNTIME_UPDATES }),
      // Lambda allocates CPU in proportion to memory, and only argon2 needs much CPU.
      memorySize: hashesPasswords ? 1024 : 512,
      // Shorter than API Gateway's limit of 30 seconds, so that the function fails first.
      timeout: Duration.seconds(10),
      ...(strictThrottle &&
        loginConcurrency !== undefined && { reservedConcurrentExecutions: loginConcurrency }),
      variables: {
        TOKEN_ISSUER: `gatehouse-${deployment.environment}`,
        TOKEN_SECONDS: String(tokenLife.minutes * 60),
        REMEMBERED_TOKEN_SECONDS: String(tokenLife.rememberedMinutes * 60),
        AUDIT_DAYS: String(auditDays),
        ...(!isPublic && deletionEndsSessions && { DELETION_ENDS_SESSIONS: 'true' }),
        ...(secondFactor &&
          (!isPublic || permissions.keys?.includes('factor')) && {
            FACTOR_REQUIRED_FOR: secondFactor.requiredFor.join(','),
            FACTOR_REQUIRED_FROM: secondFactor.from,
          }),
        ...(ssoOnly &&
          permissions.conditionCheck?.includes(PARTITION.arming) && {
            EMERGENCY_ACCOUNT: ssoOnly.emergencyAccount,
          }),
        ...(!isPublic && confirmEmailChanges && { CONFIRM_EMAIL_CHANGES: 'true' }),
        ...(setsPassword && { PASSWORD_MINIMUM: String(passwords.minimum) }),
        ...(setsPassword && passwords.rejectCommon && { REJECT_COMMON_PASSWORDS: 'true' }),
        ...(createsTokens && {
          API_TOKEN_DAYS_MAX: String(settings.tokens.daysMaximum),
          API_TOKENS_MAX: String(settings.tokens.perUser),
        }),
        ...issuerVariables({
          issuers: ISSUER_ROUTES.includes(route) ? settings.issuers : [],
          moduleIssuers: MODULE_ISSUER_ROUTES.includes(route) ? settings.moduleIssuers : [],
        }),
        ...(ssoOnly && route === 'GET /api/issuers' && { SSO_ONLY: 'true' }),
        FAILURES_PER_SOURCE: String(failuresPerSource),
        // The origins that may send public requests; requests of other sites are rejected.
        ...(isPublic && corsOrigins.length > 0 && { CORS_ORIGINS: corsOrigins.join(',') }),
        ...(isPublic && edge && { EDGE_HOST: edge.hostName }),
        ...(edge && { EDGE_SECRET_HASHES: edge.secretHashes.join(',') }),
      },
    });
    this.route = route;
    if (hasVersions)
      this.live = new Alias(this, 'Live', {
        aliasName: 'live',
        version: this.publish(hashesPasswords),
      });
  }

  /**
   * A version whose logical id changes with what Lambda publishes, and only then: it refuses to
   * publish the same again. The CDK's id also depends on how the CDK computes it, and on how the
   * runtime is updated, which is no part of a version:
   * https://github.com/aws/aws-cdk/issues/26777
   */
  private publish(hashesPasswords: boolean): Version {
    const version = new Version(this, 'CurrentVersion', { lambda: this });
    const resource = version.node.defaultChild as CfnVersion;
    const fn = this.node.defaultChild as CfnFunction;
    const { architectures, code, description, environment, handler, loggingConfig } = fn;
    const { memorySize, role, runtime, timeout } = fn;
    const configuration = [description, environment, handler, loggingConfig, memorySize, timeout];
    nameByContent(resource, [code, role, runtime, architectures, ...configuration]);
    // Each version has a policy of its own:
    // https://docs.aws.amazon.com/lambda/latest/dg/runtime-management-configure-settings.html
    if (hashesPasswords) resource.runtimePolicy = { updateRuntimeOn: RUNTIME_UPDATES.mode };
    return version;
  }
}

/*
 * CloudFormation creates a resource with a new logical id before it deletes the former one, and API
 * Gateway rejects a second route with the same key: a deployment in which the id of a route changes
 * always fails. https://github.com/sst/sst/issues/513
 */

/** The id of a route's construct and function, independent of the handler's name. */
export const routeId = ({ route }: Route): string =>
  route.replaceAll(/[^A-Za-z0-9]+/g, '-').replace(/-$/, '');
