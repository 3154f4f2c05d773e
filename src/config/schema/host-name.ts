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
