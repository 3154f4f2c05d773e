import { isIpv4, isIpv6 } from './ip-address.ts';

/**
 * True if a NetworkPolicy accepts the text as `ipBlock.cidr`: an IPv4 or IPv6 address with a prefix length,
 * without leading zeros (Go's netip.ParsePrefix). Bits beyond the prefix are not checked.
 */
export function isCidr(text: string): boolean {
  const [, address, prefix] = /^([^/]+)\/(0|[1-9][0-9]{0,2})$/.exec(text) ?? [];
  if (address === undefined || prefix === undefined) return false;
  if (isIpv4(address)) return Number(prefix) <= 32;
  return isIpv6(address) && Number(prefix) <= 128;
}
