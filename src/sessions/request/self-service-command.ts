/**
 * Whether a command line is for the login itself: its first word is the one of `self_service`. Every login asks this.
 *
 * @param command what the client sent
 * @param word the first word; undefined if the login answers no commands
 */
export function isSelfService(
  command: string | undefined,
  word: string | undefined,
): command is string {
  if (word === undefined || command?.startsWith(word) !== true) return false;
  return command.length === word.length || /\s/.test(command.charAt(word.length));
}

/**
 * The words after the first one. Nothing is evaluated: a command line with quotes, `$`, `;`, `|`, a line break or anything
 * else that a shell would interpret has no words.
 *
 * @param command one for which `isSelfService`
 * @returns undefined if it is not of plain words, separated by blanks
 */
export function selfServiceWords(command: string): readonly string[] | undefined {
  const words = command.split(/ +/).filter((word) => word !== '');
  return words.every((word) => /^[A-Za-z0-9_.,:/=@+-]+$/.test(word)) ? words.slice(1) : undefined;
}
