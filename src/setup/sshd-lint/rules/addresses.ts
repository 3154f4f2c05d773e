import { matchesList, matchesPattern } from './patterns.ts';

interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** `addr_match_list` of OpenSSH: addresses, CIDRs and patterns, separated by commas; `!` excludes. */
export function matchesAddressList(address: string, list: string): boolean {
  return matchesList(list, (entry) => isIn(address, entry));
}

/** Whether an address or all addresses of a CIDR are in the range of another entry. */
export function isCovered(inner: string, outer: string): boolean {
  const [one, all] = [parseRange(inner), parseRange(outer)];
  if (one === undefined || all === undefined) return inner === outer;
  return one.prefix >= all.prefix && isIn(formatAddress(one), outer);
}

/** An address that is in the list, if one is easily found. */
export function exampleAddress(list: string): string | undefined {
  const entries = list.split(',').filter((one) => !one.startsWith('!'));
  return entries.flatMap(candidates).find((address) => matchesAddressList(address, list));
}

function isIn(text: string, entry: string): boolean {
  const address = parseAddress(text);
  const range = parseRange(entry);
  if (address === undefined || range === undefined) return matchesPattern(text, entry);
  if (address.bits !== range.bits) return false;
  const shift = BigInt(range.bits - range.prefix);
  return address.value >> shift === range.value >> shift;
}

/** Some addresses of a range; for a pattern, one with each wildcard replaced. */
function candidates(entry: string): string[] {
  const range = parseRange(entry);
  if (range === undefined) return [entry.replaceAll(/[*?]/g, '1')];
  const single = range.prefix === range.bits;
  // Several, because the list may exclude some of them.
  const steps = single ? [0n] : [1n, 2n, 1n << BigInt(range.bits - range.prefix - 1)];
  return steps.map((step) => formatAddress({ bits: range.bits, value: range.value + step }));
}

function parseRange(entry: string): (Address & { readonly prefix: number }) | undefined {
  const [text = '', length] = entry.split('/');
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const prefix = length === undefined ? address.bits : Number(length);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > address.bits) return undefined;
  return { ...address, prefix };
}

function parseAddress(text: string): Address | undefined {
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(text)) {
    const value = text.split('.').reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
    return { bits: 32, value };
  }
  if (!text.includes(':') || !/^[0-9A-Fa-f:]+$/.test(text)) return undefined;
  const [head = '', tail] = text.split('::');
  const groups = (part: string) => part.split(':').filter((group) => group !== '');
  const front = groups(head);
  const back = groups(tail ?? '');
  const middle = Array<string>(Math.max(0, 8 - front.length - back.length)).fill('0');
  const all = [...front, ...middle, ...back];
  if (all.length !== 8) return undefined;
  return {
    bits: 128,
    value: all.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n),
  };
}

function formatAddress({ bits, value }: Address): string {
  const size = bits === 32 ? 8n : 16n;
  const parts = Array.from({ length: bits / Number(size) }, (_, index) => {
    const shift = BigInt(bits) - size * BigInt(index + 1);
    return ((value >> shift) & ((1n << size) - 1n)).toString(bits === 32 ? 10 : 16);
  });
  return parts.join(bits === 32 ? '.' : ':');
}
