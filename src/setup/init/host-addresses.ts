import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** The answer for an sshd that listens on all addresses. */
export const allAddresses = 'all';

/** The addresses at which others reach this host, without those of one network segment only (link-local). */
export function hostAddresses(): string[] {
  return interfaces()
    .filter(({ internal, address }) => !internal && !/^(?:fe80:|169\.254\.)/i.test(address))
    .map(({ address }) => address);
}

/** Whether an admin has to choose: several addresses of one family. */
export function hasSeveralAddresses(): boolean {
  const families = Map.groupBy(hostAddresses(), isIP);
  return [...families.values()].some((addresses) => addresses.length > 1);
}

/** Why sshd cannot listen on an address, as the end of a sentence. */
export function addressProblem(address: string): string | undefined {
  const family = isIP(address);
  if (family === 0) return 'is not an IP address';
  const known = [...interfaces().map((one) => one.address), '0.0.0.0', '::'];
  if (known.includes(address) || address.startsWith('127.') || bindsForeign(family))
    return undefined;
  const own = hostAddresses().join(', ');
  return `is not an address of this host (it has ${own === '' ? 'only loopback' : own}), so sshd could not listen on it`;
}

function interfaces() {
  return Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
}

/** ip(7), ip_nonlocal_bind: on hosts that take over an address from each other. */
function bindsForeign(family: number): boolean {
  const name = family === 6 ? 'ipv6' : 'ipv4';
  try {
    return readFileSync(`/proc/sys/net/${name}/ip_nonlocal_bind`, 'utf8').trim() === '1';
  } catch {
    return false;
  }
}
