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

/** RFC 1123: labels of letters, digits and hyphens; the last is not a number, which would be a wrong IPv4 address. */
export function isHostName(text: string): boolean {
  const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
  return (
    text.length <= 253 &&
    new RegExp(`^${label}(?:\\.${label})*$`).test(text) &&
    !/(?:^|\.)[0-9]+$/.test(text)
  );
}

/** `192.0.2.1:22`, `[2001:db8::1]:22`. */
export function hostPort(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
