import { type Report, runChild, type WarmUp } from './children.ts';
import { eventFor, type Functions } from './functions.ts';
import type { RecordedCall, RecordedInvocation, Recording } from './recording.ts';
import { median } from './statistics.ts';
import { comparison, comparisonTable, type Measure, measureOf } from './tables.ts';
import { type Variant, variantsInTurn } from './variants.ts';

/**
 * Functions that hash passwords, wait on purpose or make no calls, of which the floor does none.
 */
const NOT_COMPARED = new Set<string>([
  'POST /api/authenticate',
  'POST /api/account/change-password',
  'POST /api/account/reset-password/init',
  'POST /api/account/reset-password/finish',
  'GET /management/info',
  'GET /api/openapi.json',
  'GET /api/users/authorities',
] satisfies Recording['route'][]);

type Loop = NonNullable<Report['loop']>;

/** How long each process repeats a call, and how many processes there are. */
interface WarmOptions {
  readonly rounds: number;
  readonly warmUp: WarmUp;
  readonly measureMs: number;
}

/** Fewer calls have no meaningful 99th percentile. */
const MIN_CALLS_FOR_P99 = 100;

const MEASURES: Readonly<Record<string, (loop: Loop) => number>> = {
  'CPU time in µs per call': ({ cpuUs }) => cpuUs,
  'Latency in µs, p50': ({ p50Us }) => p50Us,
  'Latency in µs, p99': ({ calls, p99Us }) => (calls < MIN_CALLS_FOR_P99 ? Number.NaN : p99Us),
};

/** Measures repeated calls of every function. The network is a stub with recorded responses. */
export async function measureWarm(functions: Functions, options: WarmOptions): Promise<string> {
  const { recordings } = functions;
  const samples = await measure('warm', recordings, options, (recording, variant) =>
    runChild(jobOf(functions, recording, variant, options)),
  );
  return comparison(measuresOf(recordings, samples), (route) => !NOT_COMPARED.has(route));
}

/** Measures repeated calls of some functions with the engine. */
export async function measureWarmWithEngine(
  functions: Functions,
  options: WarmOptions,
): Promise<string> {
  const recordings = functions.recordings.filter(({ third }) => third);
  const samples = await measure(
    'warm, with the engine',
    recordings,
    options,
    (recording, variant) => runChild(engineJobOf(functions, recording, variant, options)),
  );
  const calls = [...samples.values()].flat().map((loop) => loop.calls);
  const tables = measuresOf(recordings, samples).map(
    (measured) => `${measured.title}:\n\n${comparisonTable(measured)}`,
  );
  return [
    `Measured calls of a process: ${Math.min(...calls)} to ${Math.max(...calls)}.`,
    ...tables,
  ].join('\n\n');
}

type Samples = ReadonlyMap<string, Loop[]>;

async function measure(
  title: string,
  recordings: readonly Recording[],
  { rounds }: WarmOptions,
  run: (recording: Recording, variant: Variant) => Promise<Report>,
): Promise<Samples> {
  const samples = new Map<string, Loop[]>();
  for (let round = 1; round <= rounds; round++) {
    process.stderr.write(`${title}: round ${round} of ${rounds}\n`);
    for (const recording of recordings) {
      for (const variant of variantsInTurn(round)) {
        const key = `${variant} ${recording.route}`;
        const { loop } = await run(recording, variant).catch((error) => {
          throw new Error(`${key}: ${error.message}`);
        });
        samples.set(key, [...(samples.get(key) ?? []), loop as Loop]);
      }
    }
  }
  return samples;
}

function measuresOf(recordings: readonly Recording[], samples: Samples): Measure[] {
  const routes = recordings.map(({ route }) => route);
  return Object.entries(MEASURES).map(([title, value]) =>
    measureOf(title, routes, (route, variant) =>
      median((samples.get(`${variant} ${route}`) ?? []).map(value)),
    ),
  );
}

function jobOf(
  functions: Functions,
  recording: Recording,
  variant: Variant,
  { warmUp, measureMs }: WarmOptions,
) {
  const { handler, config, success, first, second } = recording;
  return {
    bundle: functions.bundles.fileOf(variant, handler),
    environment: functions.replayEnvironment(recording),
    timeoutMs: config.timeoutMs,
    events: [eventFor(functions, variant, recording, first)],
    loop: {
      event: eventFor(functions, variant, recording, repetitionOf(second)),
      warmUp,
      measureMs,
      statusCode: success,
    },
    calls: [first.calls, second.calls] as const,
  };
}

/**
 * The second invocation is the first one with its integration; when it is repeated, the instance
 * has its data key.
 */
const repetitionOf = ({ event, calls }: RecordedInvocation): RecordedInvocation => ({
  event,
  calls: calls.filter(({ operation }) => operation !== 'GenerateDataKey'),
});

/**
 * The first call of a change is already made; all further ones make the calls of the third recorded
 * invocation.
 */
function engineJobOf(
  functions: Functions,
  recording: Recording,
  variant: Variant,
  options: WarmOptions,
) {
  const third = repeatable(recording.third as RecordedInvocation);
  const { calls, ...job } = jobOf(
    functions,
    { ...recording, first: third, second: third },
    variant,
    options,
  );
  return { ...job, environment: functions.engineEnvironment(recording) };
}

/**
 * The floor does not know the version that a repeated transaction finds, so all of its conditions
 * must hold.
 */
const repeatable = ({ event, calls }: RecordedInvocation): RecordedInvocation => ({
  event,
  calls: calls.map((call) => ({ ...call, input: withTrueConditions(call.input) })),
});

function withTrueConditions(input: RecordedCall['input']): RecordedCall['input'] {
  return JSON.parse(JSON.stringify(input), (name, value) =>
    name === 'ConditionExpression'
      ? `(${value}) OR attribute_exists(pk) OR attribute_not_exists(pk)`
      : value,
  );
}
