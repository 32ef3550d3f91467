/** The origin of a request. */
export interface Source {
  /** The peer of the connection, or the client's address that the edge states. */
  readonly address: string;
  /**
   * In milliseconds since 1970. Earlier than the start of the handler if the request was queued.
   */
  readonly arrivedAt: number;
  /** As the client states it. */
  readonly userAgent?: string | undefined;
}

const IPV4 = /^(?:::ffff:)?((\d+\.\d+\.\d+)\.\d+)$/i;

/**
 * The /24 of an IPv4 address or the /64 of an IPv6 address: a provider's customer can hold many
 * addresses in one.
 */
export function networkOf(address: string): string {
  return IPV4.exec(address)?.[2] ?? first64Bits(address);
}

/** The IPv4 address or the /64 of the IPv6 address, which typically belong to a single machine. */
export function machineOf(address: string): string {
  return IPV4.exec(address)?.[1] ?? first64Bits(address);
}

/** The IPv4 address or the /48 of the IPv6 address, the most that one customer usually has. */
export function siteOf(address: string): string {
  return IPV4.exec(address)?.[1] ?? firstGroups(address, 3);
}

const first64Bits = (address: string): string => firstGroups(address, 4);

/** Groups of 16 bits. Normalized, because one IPv6 address can be written in several ways. */
function firstGroups(address: string, count: number): string {
  const missing = Math.max(0, 9 - address.split(':').length);
  return address
    .replace('::', `:${'0:'.repeat(missing)}`)
    .split(':')
    .slice(0, count)
    .map((group) => Number.parseInt(group || '0', 16).toString(16))
    .join(':');
}
