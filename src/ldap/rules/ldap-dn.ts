/**
 * A distinguished name in canonical form, so that equal names compare equal: without RFC 4514's escapes, with
 * letter case and blanks folded as directories compare them (caseIgnoreMatch, RFC 4518 as far as names of
 * people and groups need it), the parts of a multi-valued RDN in order.
 *
 * @returns Undefined if it is not a distinguished name.
 */
export function normalDn(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  const rdns = split(text, /[,;]/);
  const normal = rdns?.map((rdn) => {
    const parts = split(rdn, /\+/)?.map(normalPart);
    return parts === undefined || parts.includes(undefined)
      ? undefined
      : parts.sort().join('\u0001');
  });
  return normal === undefined || normal.includes(undefined) ? undefined : normal.join('\u0000');
}

/** `uid=alice` of `uid=alice,ou=people`: values by lower-case type. */
export function firstRdn(text: string): ReadonlyMap<string, string> {
  const parts = split(split(text, /[,;]/)?.[0] ?? '', /\+/) ?? [];
  return new Map(
    parts.flatMap((part) => {
      const [type, value] = typeAndValue(part) ?? [];
      return type === undefined || value === undefined ? [] : [[type, value] as const];
    }),
  );
}

function normalPart(part: string): string | undefined {
  const [type, value] = typeAndValue(part) ?? [];
  if (type === undefined || value === undefined) return undefined;
  const folded = value.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
  return `${type}=${folded}`;
}

function typeAndValue(part: string): [string, string] | undefined {
  const at = part.indexOf('=');
  const type = part.slice(0, Math.max(at, 0)).trim().toLowerCase();
  const value = unescaped(part.slice(at + 1));
  return at < 0 || !/^[a-z0-9.-]+$/.test(type) || value === undefined ? undefined : [type, value];
}

/** Splits at separators that are neither escaped nor within quotes (RFC 2253, section 4). */
function split(text: string, separator: RegExp): string[] | undefined {
  const parts: string[] = [];
  let part = '';
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '\\') {
      part += text.slice(at, at + 2);
      at += 1;
      continue;
    }
    if (character === '"') quoted = !quoted;
    if (!quoted && separator.test(character)) {
      parts.push(part);
      part = '';
    } else part += character;
  }
  parts.push(part);
  return quoted ? undefined : parts;
}

function unescaped(written: string): string | undefined {
  const trimmed = trimUnescaped(written);
  const inner = /^"(.*)"$/s.exec(trimmed)?.[1] ?? trimmed;
  const bytes: Buffer[] = [];
  for (const [piece] of inner.matchAll(/\\[0-9A-Fa-f]{2}|\\[^]|[^\\]+|\\$/g)) {
    if (piece === '\\') return undefined;
    if (/^\\[0-9A-Fa-f]{2}$/.test(piece)) bytes.push(Buffer.from(piece.slice(1), 'hex'));
    else bytes.push(Buffer.from(piece.startsWith('\\') ? piece.slice(1) : piece));
  }
  return Buffer.concat(bytes).toString();
}

/** Removes blanks around a value, except for an escaped last one. */
function trimUnescaped(text: string): string {
  const start = text.trimStart();
  const end = start.trimEnd();
  return /(?:^|[^\\])(?:\\\\)*\\$/.test(end) ? start.slice(0, end.length + 1) : end;
}
