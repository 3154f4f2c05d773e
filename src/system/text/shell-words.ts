/** A command as an admin would type it: words that a shell would change are quoted. */
export function shellWords(argv: readonly string[]): string {
  return argv
    .map((word) =>
      /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`,
    )
    .join(' ');
}
