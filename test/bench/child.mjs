/*
 * A fresh instance of a function: imports a bundle, calls its handler and reports what that cost.
 * Plain JavaScript that loads built-in modules without `import`, because its own cost is part of
 * every measured cold start.
 *
 * Reads a job from standard input and writes a report to file descriptor 3; children.ts describes
 * both. The output of the function remains separate.
 */
const { readFileSync, writeFileSync } = process.getBuiltinModule('node:fs');

const { bundle, events, timeoutMs, loop, calls } = JSON.parse(readFileSync(0, 'utf8'));

/** Milliseconds of a clock that all processes of a machine share. */
const now = () => Number(process.hrtime.bigint()) / 1e6;

function call(handler, event) {
  const deadline = Date.now() + timeoutMs;
  // A copy, because the middleware replaces fields of the event.
  return handler(
    { ...event },
    {
      functionName: 'benchmark',
      functionVersion: '$LATEST',
      awsRequestId: 'benchmark',
      getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
    },
  );
}

const network = calls && (await import('./stub-network.ts')).stubNetwork(calls);

const startedAt = now();
const { handler } = await import(bundle);
const importMs = now() - startedAt;

const invocations = [];
let first;
for (const event of events) {
  const invokedAt = now();
  const { statusCode, body } = await call(handler, event);
  const endedAt = now();
  invocations.push({ statusCode, body, endedAt });
  if (first) continue;
  const { user, system } = process.cpuUsage();
  first = {
    importMs,
    callMs: endedAt - invokedAt,
    cpuMs: (user + system) / 1000,
    rssBytes: process.memoryUsage.rss(),
  };
}

network?.repeatSecond();
writeFileSync(
  3,
  JSON.stringify({ first, invocations, loop: loop && (await measure(handler, loop)) }),
);
process.exit();

/** Repeats an event, first unmeasured to warm up, then measured for `measureMs`. */
async function measure(handler, { event, warmUp, measureMs, statusCode }) {
  const repeat = async (durationMs, { calls = 0, maxMs = durationMs } = {}) => {
    const latencies = [];
    const begun = now();
    for (let started = begun; started - begun < (latencies.length < calls ? maxMs : durationMs); ) {
      const response = await call(handler, event);
      if (response.statusCode !== statusCode)
        throw new Error(`${response.statusCode} ${response.body}`);
      const ended = now();
      latencies.push(ended - started);
      started = ended;
    }
    return latencies;
  };
  // A call that waits on purpose gets no faster.
  if (first.callMs < measureMs) await repeat(warmUp.minMs, warmUp);
  const before = process.cpuUsage();
  const latencies = await repeat(measureMs);
  const { user, system } = process.cpuUsage(before);
  latencies.sort((a, b) => a - b);
  const percentileUs = (share) =>
    1000 * latencies[Math.min(latencies.length - 1, Math.floor(share * latencies.length))];
  return {
    calls: latencies.length,
    cpuUs: (user + system) / latencies.length,
    p50Us: percentileUs(0.5),
    p99Us: percentileUs(0.99),
  };
}
