export function whereDataIs(folder: string | undefined, engineUrl: string | undefined): string {
  if (!engineUrl)
    return folder
      ? `All data is in ${folder}/`
      : 'All data is in memory and will be lost when the service stops';
  return folder
    ? `The table is in the DynamoDB engine at ${engineUrl}; its keys and all mail are in ${folder}/`
    : `The table is in the DynamoDB engine at ${engineUrl} and will be deleted when the ` +
        'service stops';
}
