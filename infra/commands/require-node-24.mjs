import { existsSync } from 'node:fs';

// Plain JavaScript, because an older Node cannot parse the TypeScript files that the check
// protects.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  console.error(
    `Gatehouse requires Node 24 or newer; this is Node ${process.versions.node}. ` +
      'On Linux and macOS `npm ci` installs a newer one; on other platforms, install Node 24.7 or newer.',
  );
  process.exit(1);
}
// Not `node_modules` alone, in which Node creates its compile cache.
if (!existsSync(new URL('../../node_modules/.bin', import.meta.url))) {
  console.error('The packages are not installed: run `npm ci` first.');
  process.exit(1);
}
