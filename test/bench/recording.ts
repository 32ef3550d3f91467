import { setTimeout as wait } from 'node:timers/promises';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { AwsCall, AwsResponse, Interceptor } from '../../infra/local/calls/aws-call.ts';
import type { Cloud } from '../../infra/local/cloud.ts';
import { environmentOf, type FunctionConfig } from '../../infra/local/lambda/instance.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { type Route, routes } from '../../routes.ts';
import { CHANGES, type Change, openSetup } from '../support/instance/changes.ts';
import { type Gatehouse, launch } from '../support/instance/launch.ts';
import { readsOf } from '../support/instance/reads.ts';
import { now, runChild } from './children.ts';
import { type Events, openEvents } from './events.ts';
import type { Bundles } from './variants.ts';

/** A call of a function to AWS and its response. Times are in milliseconds. */
export interface RecordedCall extends Pick<AwsCall, 'service' | 'operation' | 'input'> {
  readonly response: AwsResponse;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** One invocation of a function: its event and the calls to AWS that it made. */
export interface RecordedInvocation {
  readonly event: APIGatewayProxyEventV2;
  readonly calls: readonly RecordedCall[];
}

/**
 * Consecutive invocations of one instance of a function; the calls of the first include those of
 * the cold start.
 */
export interface Recording {
  readonly route: Route['route'];
  readonly handler: string;
  /** The status of its responses. */
  readonly success: number;
  readonly config: FunctionConfig;
  readonly first: RecordedInvocation;
  readonly second: RecordedInvocation;
  /** Of REPEATED routes only, the second event again: the state that a repeated change reaches. */
  readonly third: RecordedInvocation | undefined;
}

/**
 * The recordings of all routes, and the environment of functions that call the cloud on which they
 * were recorded.
 */
interface Recorded {
  readonly recordings: readonly Recording[];
  environmentOf(recording: Recording): Record<string, string>;
  stop(): Promise<void>;
}

/** Routes whose change can be repeated, and is measured with the engine. */
const REPEATED: readonly Route['route'][] = ['GET /api/users/{login}', 'PUT /api/users'];

/** Milliseconds. */
const OVERLAP_MS = 15;

/** Runs every function twice on the local cloud. Throws if a response is not the expected one. */
export async function recordAll(assembly: string, bundles: Bundles): Promise<Recorded> {
  const recorder = openRecorder();
  const gatehouse = await launch({ assembly, breaksData: true, intercept: recorder.intercept });
  const events = await openEvents();
  const stop = async () => {
    await events.stop();
    await gatehouse.stop();
  };
  const environment = (cloud: Cloud, config: FunctionConfig) =>
    environmentOf(config, {
      region: cloud.region,
      endpoint: cloud.endpoint,
      accessKey: OPERATOR.accessKeyId,
    });
  try {
    const recordings = await recordRoutes(gatehouse, events, recorder, bundles, environment);
    return {
      recordings,
      environmentOf: ({ config }) => environment(gatehouse.cloud, config),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function recordRoutes(
  gatehouse: Gatehouse,
  events: Events,
  recorder: Recorder,
  bundles: Bundles,
  environment: (cloud: Cloud, config: FunctionConfig) => Record<string, string>,
): Promise<Recording[]> {
  const setup = await openSetup(gatehouse);
  const requests = [...CHANGES, ...readsOf(await setup.openParameter())];
  const recordings: Recording[] = [];
  for (const { route, handler } of routes) {
    const { success, prepare } = requests.find((request) => request.route === route) as Change;
    const config = gatehouse.cloud.functions.find(({ name }) => name === route) as FunctionConfig;
    const eventOf = async () => events.eventOf((await prepare(setup)).request);
    const [first, second] = [await eventOf(), await eventOf()];
    const given = REPEATED.includes(route) ? [first, second, second] : [first, second];

    recorder.start();
    const { invocations } = await runChild({
      bundle: bundles.fileOf('gatehouse', handler),
      environment: environment(gatehouse.cloud, config),
      timeoutMs: config.timeoutMs,
      events: given,
    });
    const calls = recorder.stop();

    for (const { statusCode, body } of invocations) {
      if (statusCode !== success)
        throw new Error(`${route} responded ${statusCode}, not ${success}: ${body}`);
    }
    const recorded = (index: number): RecordedInvocation => {
      const [since, until] = [
        invocations[index - 1]?.endedAt ?? 0,
        invocations[index]?.endedAt ?? 0,
      ];
      return {
        event: given[index] as APIGatewayProxyEventV2,
        calls: calls.filter(({ endedAt }) => endedAt > since && endedAt <= until),
      };
    };
    const third = given.length > 2 ? recorded(2) : undefined;
    recordings.push({
      route,
      handler,
      success,
      config,
      first: recorded(0),
      second: recorded(1),
      third,
    });
  }
  return recordings;
}

interface Recorder {
  readonly intercept: Interceptor;
  start(): void;
  /** Returns the calls since the start. */
  stop(): RecordedCall[];
}

/** Records the calls of processes that have the operator's credentials. */
function openRecorder(): Recorder {
  let recorded: RecordedCall[] | undefined;
  return {
    async intercept({ service, operation, input, functionName }, forward) {
      const startedAt = now();
      const response = await forward();
      if (functionName !== undefined || !recorded) return response;
      const call = { service, operation, input, response, startedAt };
      // Calls that a function makes at once arrive within this time, so that they overlap.
      await wait(OVERLAP_MS);
      recorded.push({ ...call, endedAt: now() });
      return response;
    },
    start() {
      recorded = [];
    },
    stop() {
      const calls = recorded ?? [];
      recorded = undefined;
      return calls.toSorted((a, b) => a.startedAt - b.startedAt);
    },
  };
}
