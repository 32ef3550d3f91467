import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { Failure } from '../contract/failure.ts';

/** The headers that the edge sets. It overwrites headers of these names that a client sends. */
export const EDGE_HEADERS = {
  secret: 'gatehouse-edge-secret',
  clientAddress: 'gatehouse-client-address',
} as const;

/**
 * Returns the address of the client, and rejects every request that does not prove with the secret
 * that it came through the edge. Undefined in an environment without an edge, where anybody could
 * send these headers.
 */
export function openEdge(): ((headers: APIGatewayProxyEventV2['headers']) => string) | undefined {
  const { EDGE_SECRET_HASHES: hashes } = process.env;
  if (hashes === undefined) return undefined;
  const accepted = hashes.split(',').map((hash) => Buffer.from(hash, 'hex'));
  return (headers) => {
    const secret = headers[EDGE_HEADERS.secret];
    const address = headers[EDGE_HEADERS.clientAddress] ?? '';
    // Without an address, all clients would share one count of the login throttle.
    if (!secret || !isAccepted(secret) || isIP(address) === 0) throw new Failure('not-from-edge');
    return address;
  };

  /** 256 random bits cannot be guessed from their hash, so it need not be slow. */
  function isAccepted(secret: string): boolean {
    const sent = createHash('sha256').update(secret).digest();
    return accepted.some((hash) => timingSafeEqual(hash, sent));
  }
}
