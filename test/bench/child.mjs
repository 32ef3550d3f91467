/*
 * A fresh instance of a function: imports a bundle, calls its handler with each event, and reports
 * what that cost. Plain JavaScript that loads built-in modules without `import`, because its own
 * cost is part of every measured cold start.
 *
 * Reads a job from standard input and writes a report to file descriptor 3; children.ts describes
 * both. The output of the function remains separate.
 */
const { readFileSync, writeFileSync } = process.getBuiltinModule('node:fs');

const { bundle, events, timeoutMs } = JSON.parse(readFileSync(0, 'utf8'));

const started = performance.now();
const { handler } = await import(bundle);

const invocations = [];
for (const event of events) {
  const invoked = performance.now();
  const deadline = Date.now() + timeoutMs;
  const { statusCode, body } = await handler(event, {
    functionName: 'benchmark',
    functionVersion: '$LATEST',
    awsRequestId: 'benchmark',
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  });
  const ended = performance.now();
  const { user, system } = process.cpuUsage();
  invocations.push({
    statusCode,
    body,
    // Of the first call with the import.
    ms: ended - (invocations.length === 0 ? started : invoked),
    cpuMsSoFar: (user + system) / 1000,
    rssBytes: process.memoryUsage.rss(),
  });
}
writeFileSync(3, JSON.stringify(invocations));
process.exit();
