import { createHash } from 'node:crypto';

/** The id of a public P-256 key: its thumbprint by RFC 7638, which wants the required members in the order of their names. */
export function thumbprint({ x, y }: { readonly x: string; readonly y: string }): string {
  return createHash('sha256')
    .update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }))
    .digest('base64url');
}
