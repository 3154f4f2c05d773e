export function isIpv4(text: string): boolean {
  const octets = text.split('.');
  return octets.length === 4 && octets.every((o) => /^(?:0|[1-9][0-9]{0,2})$/.test(o) && +o <= 255);
}

/** RFC 4291, 2.2: eight groups; one run of zero groups may be `::`, the last two may be an IPv4 address. */
export function isIpv6(text: string): boolean {
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

export function isIpAddress(text: string): boolean {
  return isIpv4(text) || isIpv6(text);
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
