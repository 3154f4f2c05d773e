/** `match_pattern` of OpenSSH: `*` and `?`, nothing else is special. */
export function matchesPattern(text: string, pattern: string): boolean {
  const source = pattern
    .replaceAll(/[\\^$.|+()[\]{}]/g, '\\$&')
    .replaceAll(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(text);
}

/** `match_pattern_list`: separated by commas; one that begins with `!` and matches excludes. */
export function matchesPatternList(text: string, list: string): boolean {
  const patterns = list.split(',');
  const refused = patterns.some((one) => one.startsWith('!') && matchesPattern(text, one.slice(1)));
  return !refused && patterns.some((one) => !one.startsWith('!') && matchesPattern(text, one));
}

/** Whether one text can match both. Patterns have some dozen characters at most. */
export function patternsMeet(one: string, other: string): boolean {
  const known = new Map<number, boolean>();
  const meet = (i: number, j: number): boolean => {
    const key = i * (other.length + 1) + j;
    const before = known.get(key);
    if (before !== undefined) return before;
    known.set(key, false);
    const a = one[i];
    const b = other[j];
    let result: boolean;
    if (a === undefined && b === undefined) result = true;
    else if (a === '*') result = meet(i + 1, j) || (b !== undefined && meet(i, j + 1));
    else if (b === '*') result = meet(i, j + 1) || (a !== undefined && meet(i + 1, j));
    else if (a === undefined || b === undefined) result = false;
    else result = (a === b || a === '?' || b === '?') && meet(i + 1, j + 1);
    known.set(key, result);
    return result;
  };
  return meet(0, 0);
}
