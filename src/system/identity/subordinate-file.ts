/** IDs `start` to `start + count - 1`. */
export interface IdRange {
  readonly start: number;
  readonly count: number;
}

/** A line of /etc/subuid or /etc/subgid, subuid(5). */
export interface SubordinateEntry extends IdRange {
  /** A login name or a numeric UID: newuidmap(1) accepts both. */
  readonly owner: string;
  /** Starting at 1; absent for a planned entry. */
  readonly line?: number;
}

export interface SubordinateFile {
  readonly entries: readonly SubordinateEntry[];
  /** Lines that newuidmap ignores, except comments and empty lines. */
  readonly malformed: readonly { readonly line: number; readonly text: string }[];
}

/** Number of IDs: 32 bits, except the last one, which means "no change" in chown(2). */
export const idCount = 0xffff_ffff;

/** Size of shadow's line buffer, with its NUL. shadow ignores longer lines. */
const longestLine = 1023;

/**
 * Parses the file as newuidmap and podman do. An edit only appends lines, so the bytes are not kept.
 *
 * @param text decoded as latin1, so that names in any encoding are kept
 */
export function parseSubordinateFile(text: string): SubordinateFile {
  const entries: SubordinateEntry[] = [];
  const malformed: { line: number; text: string }[] = [];
  for (const [index, content] of text.split('\n').entries()) {
    const line = index + 1;
    const entry = entryOf(content);
    if (entry !== undefined) entries.push({ ...entry, line });
    else if (!/^\s*(?:#|$)/.test(content)) malformed.push({ line, text: content });
  }
  return { entries, malformed };
}

/** The line of an entry, without its newline. */
export function entryLine({ owner, start, count }: SubordinateEntry): string {
  return `${owner}:${start}:${count}`;
}

function entryOf(line: string): SubordinateEntry | undefined {
  if (line.length > longestLine) return undefined;
  const [owner = '', startText = '', countText = '', ...more] = line.split(':');
  const start = numberOf(startText);
  const count = numberOf(countText);
  if (owner === '' || owner.startsWith('#') || more.length > 0) return undefined;
  if (start === undefined || count === undefined || count === 0) return undefined;
  return { owner, start, count };
}

/** strtoul(3) with base 0, as shadow's `getulong` calls it. */
function numberOf(text: string): number | undefined {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  if (/^0[0-7]{0,14}$/.test(text)) return Number.parseInt(text, 8);
  return /^0x[\da-f]{1,12}$/i.test(text) ? Number.parseInt(text, 16) : undefined;
}
