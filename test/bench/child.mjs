/*
 * A fresh instance of a function: imports a bundle, calls its handler with each event, and reports
 * each status and the CPU time so far. Plain JavaScript that loads built-in modules without
 * `import`, because its own cost is part of every cold start.
 */
const { readFileSync, writeFileSync } = process.getBuiltinModule('node:fs');
const { bundle, events } = JSON.parse(readFileSync(0, 'utf8'));
const { handler } = await import(bundle);
const report = [];
for (const event of events) {
  const context = { awsRequestId: 'bench', getRemainingTimeInMillis: () => 10_000 };
  const { statusCode } = await handler(event, context);
  const { user, system } = process.cpuUsage();
  report.push({ statusCode, cpuMs: (user + system) / 1000 });
}
writeFileSync(3, JSON.stringify(report));
process.exit();
