export function isIpv4(text: string): boolean {
  return ipv4Octets(text) !== undefined;
}

export function isIpv6(text: string): boolean {
  return ipv6Groups(text) !== undefined;
}

export function isIpAddress(text: string): boolean {
  return isIpv4(text) || isIpv6(text);
}

/** The four numbers of an IPv4 address. A leading zero is refused: some programs read octal numbers. */
export function ipv4Octets(text: string): number[] | undefined {
  const octets = text.split('.');
  if (octets.length !== 4 || !octets.every((o) => /^(?:0|[1-9][0-9]{0,2})$/.test(o) && +o <= 255))
    return undefined;
  return octets.map(Number);
}

/** The eight numbers of an IPv6 address. RFC 4291, 2.2: one run of zero groups may be `::`, the last two may be an IPv4 address. */
export function ipv6Groups(text: string): number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [front = [], back = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const last = halves.length === 2 ? back : front;
  if (last.at(-1)?.includes('.') === true) {
    const [a = 0, b = 0, c = 0, d = 0] = ipv4Octets(last.at(-1) ?? '') ?? [-1];
    last.splice(-1, 1, (a * 256 + b).toString(16), (c * 256 + d).toString(16));
  }
  const given = front.length + back.length;
  if (halves.length === 2 ? given > 7 : given !== 8) return undefined;
  if (![...front, ...back].every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return undefined;
  const all = [...front, ...Array<string>(8 - given).fill('0'), ...back];
  return all.map((group) => parseInt(group, 16));
}

/** A network that every supported API server accepts as `ipBlock.cidr`. */
interface Network {
  /** `10.0.0.0/8`, `2001:db8::/32`: without bits beyond the length; IPv6 as RFC 5952 writes it. */
  readonly cidr: string;
  /** What Kubernetes 1.36 refuses in the text as it is written; absent if nothing. */
  readonly refused?: string;
}

export function isCidr(text: string): boolean {
  return network(text) !== undefined;
}

/**
 * The network that a text `ADDRESS/LENGTH` means. With `StrictIPCIDRValidation`, the default from Kubernetes 1.36
 * on (apimachinery, `pkg/util/validation/ip.go`), bits beyond the length and IPv4-mapped IPv6 are refused; earlier
 * versions ignored them, and their meaning is clear.
 *
 * @returns undefined if it is no network, or if its meaning is not clear: leading zeros, an address with length 0,
 *   an IPv4-mapped address with a length below 96
 */
export function network(text: string): Network | undefined {
  const [, address = '', length] = /^([^/]+)\/(0|[1-9][0-9]{0,2})$/.exec(text) ?? [];
  if (length === undefined) return undefined;
  const octets = ipv4Octets(address);
  if (octets !== undefined) return masked(octets, Number(length), 8);
  const groups = ipv6Groups(address);
  if (groups === undefined) return undefined;
  if (!isMapped(groups)) return masked(groups, Number(length), 16);
  const mapped = groups.slice(6).flatMap((group) => [group >> 8, group & 255]);
  const inner = masked(mapped, Number(length) - 96, 8);
  return inner && { cidr: inner.cidr, refused: 'an IPv4-mapped IPv6 address' };
}

/** The text of a warning. */
export function rewrittenNetwork(text: string, cidr: string, refused: string): string {
  return `${text} has ${refused}, which Kubernetes 1.36 refuses: ${cidr} is used`;
}

/** RFC 4291, 2.5.5.2: `::ffff:192.0.2.1`. */
function isMapped(groups: readonly number[]): boolean {
  return groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
}

function masked(parts: readonly number[], length: number, bits: 8 | 16): Network | undefined {
  if (length < 0 || length > parts.length * bits) return undefined;
  const kept = parts.map((part, index) => {
    const zeros = Math.min(bits, Math.max(0, bits * (index + 1) - length));
    return (part >> zeros) << zeros;
  });
  const isSame = kept.every((part, index) => part === parts[index]);
  if (!isSame && length === 0) return undefined;
  const written = bits === 8 ? kept.join('.') : compressed(kept);
  const cidr = `${written}/${length}`;
  return isSame ? { cidr } : { cidr, refused: 'bits set beyond the length' };
}

/** RFC 5952, which the URL standard's serializer follows. */
function compressed(groups: readonly number[]): string {
  const { hostname } = new URL(`http://[${groups.map((group) => group.toString(16)).join(':')}]`);
  return hostname.slice(1, -1);
}
