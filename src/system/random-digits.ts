/**
 * Random hexadecimal digits for unique names. They are not secret: loading node:crypto would cost each login 4 ms.
 */
export function randomDigits(count: number): string {
  const digit = (): string => Math.trunc(Math.random() * 16).toString(16);
  return Array.from({ length: count }, digit).join('');
}
