import { createHash } from 'node:crypto';

/**
 * The key id of a public P-256 key: its JWK thumbprint (RFC 7638), which orders the required
 * members by name.
 */
export function thumbprint({ x, y }: { readonly x: string; readonly y: string }): string {
  return createHash('sha256')
    .update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }))
    .digest('base64url');
}
