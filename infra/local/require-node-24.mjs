// Plain JavaScript that any Node understands: an old Node could not even read the TypeScript that follows it.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  console.error(
    `Gatehouse runs on Node 24 or newer, and this is Node ${process.versions.node}. ` +
      'On Linux `npm ci` brings Node 24 along; on other platforms install it, then try again.',
  );
  process.exit(1);
}
