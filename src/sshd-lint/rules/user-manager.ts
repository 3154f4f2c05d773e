/**
 * What the variables of systemd's manager of a user (user@UID.service) decide, in systemd's path-lookup.c and path-util.c:
 * without them each is a directory of the home. An empty part of SYSTEMD_UNIT_PATH stands for the usual directories.
 */
const wanted = ['SYSTEMD_UNIT_PATH', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'] as const;

/**
 * What a manager with this environment reads.
 *
 * @param environment `NAME=value` each
 * @returns the variable because of which it reads the home, or the directories that it reads instead
 */
export function managerReads(
  environment: readonly string[],
): { readonly home: string } | { readonly directories: readonly string[] } {
  const directories: string[] = [];
  for (const name of wanted) {
    const value = environment.findLast((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
    const parts = value?.split(':') ?? [''];
    if (!parts.every((part) => part.startsWith('/'))) return { home: name };
    directories.push(...parts);
  }
  return { directories };
}

/** The property Environment of a unit, as `systemctl show` prints it: words, quoted where they need it. */
export function environmentWords(text: string): string[] {
  return (text.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? []).map((word) =>
    word.startsWith('"') ? word.slice(1, -1).replaceAll(/\\(.)/g, '$1') : word,
  );
}
