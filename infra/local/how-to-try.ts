import type { Cloud } from './cloud.ts';

export function howToTry({ url, functions }: Pick<Cloud, 'url' | 'functions'>): string[] {
  if (functions.some(({ environment }) => environment.EDGE_SECRET_HASHES)) {
    return [
      'The local cloud has no edge: it rejects every request with 403 until `edge` is ' +
        'removed from cdk.json',
    ];
  }
  return [
    `The interactive API reference: ${url}/docs`,
    'Try it:',
    `  TOKEN=$(curl -s ${url}/api/authenticate -H 'Content-Type: application/json' \\`,
    `    -d '{"username":"admin","password":"admin"}' | sed 's/.*:"\\(.*\\)".*/\\1/')`,
    `  curl -s ${url}/api/account -H "Authorization: Bearer $TOKEN"`,
  ];
}
