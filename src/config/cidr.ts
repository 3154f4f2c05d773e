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

function isIpv4(text: string): boolean {
  const octets = text.split('.');
  return octets.length === 4 && octets.every((o) => /^(?:0|[1-9][0-9]{0,2})$/.test(o) && +o <= 255);
}

/** RFC 4291, 2.2: eight groups; one run of zero groups may be `::`, the last two may be an IPv4 address. */
function isIpv6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')));
  const last = groups.at(-1)?.at(-1);
  const dotted = last?.includes('.') === true;
  if (dotted && !isIpv4(last)) return false;
  const all = groups.flat();
  const hexadecimal = dotted ? all.slice(0, -1) : all;
  if (!hexadecimal.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return false;
  const count = hexadecimal.length + (dotted ? 2 : 0);
  return halves.length === 2 ? count < 8 : count === 8;
}
