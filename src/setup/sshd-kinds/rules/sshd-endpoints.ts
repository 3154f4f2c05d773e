import type { SshdDirective } from '../../sshd-lint/rules/directives.ts';

/** An address and a port that sshd listens on. */
export interface SshdEndpoint {
  /** `*` for all addresses, and for a name that is not resolved here. */
  readonly address: string;
  readonly port: number;
}

/**
 * Where an sshd with these lines listens: each Port on all addresses, unless there are lines of ListenAddress, which may
 * have ports of their own. The files may be wrong otherwise: sshd is not asked.
 */
export function endpointsOf(directives: readonly SshdDirective[]): SshdEndpoint[] {
  const values = (keyword: string) =>
    directives.filter((one) => one.keyword === keyword).flatMap(({ args }) => args[0] ?? []);
  const declared = values('port').map(Number);
  const ports = declared.length === 0 ? [22] : declared;
  const addresses = values('listenaddress').map(splitAddress);
  const bound = addresses.flatMap(({ address, port }) =>
    (port === undefined ? ports : [port]).map((one) => ({ address, port: one })),
  );
  return bound.length > 0 ? bound : ports.map((port) => ({ address: '*', port }));
}

/** Whether both cannot be listened on at the same time. `::` also covers IPv4. */
export function collides(one: SshdEndpoint, other: SshdEndpoint): boolean {
  if (one.port !== other.port) return false;
  return isEvery(one.address) || isEvery(other.address) || one.address === other.address;
}

/** `192.0.2.1:2222`, `[2001:db8::1]:2222`, `*:2222`. */
export function endpointText({ address, port }: SshdEndpoint): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

function isEvery(address: string): boolean {
  return ['*', '::', '0.0.0.0'].includes(address);
}

/** `ADDRESS`, `ADDRESS:PORT`, `[ADDRESS]:PORT` or a host name. */
function splitAddress(text: string): { readonly address: string; readonly port?: number } {
  const [, bracketed, plain = '', port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? [];
  const address = bracketed ?? (plain === '' ? text : plain);
  const known = /^[0-9.]+$/.test(address) || address.includes(':');
  return { address: known ? address : '*', ...(port !== undefined && { port: Number(port) }) };
}
