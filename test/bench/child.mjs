/* A fresh instance of a function. It loads nothing: that would be part of every cold start. */
const { readFileSync, writeFileSync } = process.getBuiltinModule('node:fs');
const { bundle, events, status } = JSON.parse(readFileSync(0, 'utf8'));
const { handler } = await import(bundle);
const report = [];
for (const event of events) {
  const { statusCode } = await handler(event, { getRemainingTimeInMillis: () => 10_000 });
  if (statusCode !== status) throw new Error(`${bundle} responded ${statusCode}`);
  const { user, system } = process.cpuUsage();
  report.push((user + system) / 1000);
}
writeFileSync(3, JSON.stringify(report));
process.exit();
