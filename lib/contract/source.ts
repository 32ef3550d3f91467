/** Where a request comes from. */
export interface Source {
  /** The other end of the connection; the client's own as long as no proxy stands in front. */
  readonly address: string;
  /** When it came, in milliseconds since 1970: it may have waited in line since. */
  readonly arrivedAt: number;
}

const IPV4 = /^(?:::ffff:)?((\d+\.\d+\.\d+)\.\d+)$/i;

/** What one customer of a provider can have many addresses of: the /24 of an IPv4 address, the /64 of an IPv6 one. */
export function networkOf(address: string): string {
  return IPV4.exec(address)?.[2] ?? first64Bits(address);
}

/** What one machine has: an IPv4 address, or the /64 of an IPv6 one. */
export function machineOf(address: string): string {
  return IPV4.exec(address)?.[1] ?? first64Bits(address);
}

/** Spelled the same way whichever way the address is. */
function first64Bits(address: string): string {
  const [left, right] = address.split('::').map((side) => side.split(':'));
  const missing = right && left ? 8 - left.length - right.length : 0;
  const groups = [...(left ?? []), ...Array(Math.max(0, missing)).fill('0'), ...(right ?? [])];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group || '0', 16).toString(16))
    .join(':');
}
