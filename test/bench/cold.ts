import { type Report, runChild } from './children.ts';
import { eventFor, type Functions } from './functions.ts';
import type { Recording } from './recording.ts';
import { median } from './statistics.ts';
import { comparison, digits, measureOf } from './tables.ts';
import { type Variant, variantsInTurn } from './variants.ts';

type First = Report['first'];

const MEASURES: Readonly<Record<string, (first: First) => number>> = {
  'CPU time in ms, from the start of Node to the first response': ({ cpuMs }) => cpuMs,
  'Wall time in ms, of the import and the first call': ({ importMs, callMs }) => importMs + callMs,
  'Resident memory in MiB, after the first call': ({ rssBytes }) => rssBytes / 2 ** 20,
};

/**
 * Measures the import and the first call of every function in every variant, each in a process of
 * its own.
 */
export async function measureCold(functions: Functions, rounds: number): Promise<string> {
  const { recordings, bundles } = functions;
  const samples = new Map<string, First[]>();
  const add = (key: string, first: First) => samples.set(key, [...(samples.get(key) ?? []), first]);

  for (let round = 1; round <= rounds; round++) {
    process.stderr.write(`cold: round ${round} of ${rounds}\n`);
    for (const recording of recordings) {
      add(
        'empty',
        (await runChild({ bundle: bundles.empty, environment: {}, events: [{}], timeoutMs: 0 }))
          .first,
      );
      for (const variant of variantsInTurn(round)) {
        add(`${variant} ${recording.route}`, await firstCall(functions, recording, variant));
      }
    }
  }

  const routes = recordings.map(({ route }) => route);
  const medianOf = (key: string, value: (first: First) => number) =>
    median((samples.get(key) ?? []).map(value));
  const measures = Object.entries(MEASURES).map(([title, value]) =>
    measureOf(title, routes, (route, variant) => medianOf(`${variant} ${route}`, value)),
  );
  const handlers = new Map(recordings.map(({ route, handler }) => [route as string, handler]));
  const bytes = measureOf('Bytes of the bundle', routes, (route, variant) =>
    bundles.bytesOf(variant, handlers.get(route) as string),
  );
  const empty = Object.entries(MEASURES).map(
    ([title, value]) =>
      `- ${title}: ${digits(medianOf('empty', value))} for a handler that does nothing`,
  );
  return `${empty.join('\n')}\n\n${comparison([...measures, bytes])}`;
}

async function firstCall(
  functions: Functions,
  recording: Recording,
  variant: Variant,
): Promise<First> {
  const { route, handler, success, config } = recording;
  const { first, invocations } = await runChild({
    bundle: functions.bundles.fileOf(variant, handler),
    environment: functions.replayEnvironment(recording),
    timeoutMs: config.timeoutMs,
    events: [eventFor(functions, variant, recording, recording.first)],
  });
  const [{ statusCode, body } = { statusCode: 0 }] = invocations;
  if (statusCode !== success)
    throw new Error(`${variant} ${route} responded ${statusCode}, not ${success}: ${body}`);
  return first;
}
