/** `match_pattern` of OpenSSH: only `*` and `?` are special. */
export function matchesPattern(text: string, pattern: string): boolean {
  // Most patterns are names, and each is compared with the groups of every account.
  if (!/[*?]/.test(pattern)) return text === pattern;
  const source = pattern
    .replaceAll(/[\\^$.|+()[\]{}]/g, '\\$&')
    .replaceAll(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(text);
}

/** Evaluates a list of OpenSSH, separated by commas: one matching entry that begins with `!` is enough to exclude. */
export function matchesList(list: string, matches: (entry: string) => boolean): boolean {
  const { excluded, included } = lists.get(list) ?? splitList(list);
  return !excluded.some(matches) && included.some(matches);
}

interface SplitList {
  readonly excluded: readonly string[];
  readonly included: readonly string[];
}

/** Those of a configuration, each of which is evaluated for every account. */
const lists = new Map<string, SplitList>();

function splitList(list: string): SplitList {
  const entries = list.split(',');
  const split = {
    excluded: entries.filter((one) => one.startsWith('!')).map((one) => one.slice(1)),
    included: entries.filter((one) => !one.startsWith('!')),
  };
  lists.set(list, split);
  return split;
}

/** `match_pattern_list` of OpenSSH. */
export function matchesPatternList(text: string, list: string): boolean {
  return matchesList(list, (pattern) => matchesPattern(text, pattern));
}

/** The user in an entry of AllowUsers or DenyUsers: `match_user` of OpenSSH takes what follows the last `@` as host. */
export function userOfEntry(entry: string): string {
  return entry.replace(/@[^@]*$/, '');
}

/** `ga_match` of OpenSSH, for AllowGroups and DenyGroups: an entry is one pattern, without `,` and `!`. */
export function matchesAnyGroup(groups: readonly string[], entry: string): boolean {
  return groups.some((group) => matchesPattern(group, entry));
}

/** Whether any text matches both patterns. For short patterns. */
export function patternsOverlap(one: string, other: string): boolean {
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
