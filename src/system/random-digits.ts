/**
 * Hexadecimal digits that keep names apart which two processes make at the same moment. They are no
 * secret: those of node:crypto would cost each login 4 ms for loading it.
 */
export function randomDigits(count: number): string {
  const digit = (): string => Math.trunc(Math.random() * 16).toString(16);
  return Array.from({ length: count }, digit).join('');
}
