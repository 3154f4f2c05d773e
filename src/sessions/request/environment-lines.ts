/** Names that every shell can set. Excludes what some shells refuse to set and the names that Berth uses. */
const settable =
  /^(?!(?:PPID|UID|EUID|GROUPS|SHELLOPTS|BASHOPTS|BASH_\w*|IFS|OPTIND|berth_\w*)$)[A-Za-z_]\w*$/;

/**
 * Characters per line. A terminal accepts at most 4095 bytes per line, and a character takes at most 15 bytes
 * when escaped.
 */
const longestPart = 250;

/**
 * Lines of sh(1) that export variables. They contain printable characters only, because they may pass
 * through a terminal. Names that a shell cannot set are left out.
 */
export function environmentLines(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env)
    .filter(([name]) => settable.test(name))
    .flatMap(([name, value]) => [`export ${name}`, ...assignmentLines(name, value)]);
}

/**
 * Lines of sh(1) that assign one variable without exporting it.
 *
 * @param newline The shell's expression for a newline; without it each newline costs a process.
 */
export function assignmentLines(name: string, value: string, newline?: string): string[] {
  const characters = Array.from(value);
  const lines: string[] = [];
  for (let at = 0; at === 0 || at < characters.length; at += longestPart) {
    const before = at === 0 ? '' : `$${name}`;
    lines.push(...partLines(name, before, characters.slice(at, at + longestPart), newline));
  }
  return lines;
}

function partLines(
  name: string,
  before: string,
  part: readonly string[],
  newline?: string,
): string[] {
  if (part.every((one) => isPlain(one) || (one === '\n' && newline !== undefined)))
    return [`${name}=${before}${part.join('').split('\n').map(quoted).join(newline)}`];
  const escaped = part.map((one) => (isPlain(one) && one !== '\\' ? one : octal(one)));
  // The trailing x keeps newlines at the end, which $( ) would remove.
  return [`${name}=${before}$(printf %bx ${quoted(escaped.join(''))})`, `${name}=\${${name}%x}`];
}

function isPlain(character: string): boolean {
  return /^[\x20-\x7e\u00a0-\ud7ff\ue000-\u{10ffff}]$/u.test(character);
}

/** @param character A lone surrogate stands for a raw byte (src/system/program/raw-bytes.ts). */
function octal(character: string): string {
  const code = character.charCodeAt(0);
  const bytes = code >= 0xdc80 && code <= 0xdcff ? [code - 0xdc00] : [...Buffer.from(character)];
  return bytes.map((byte) => `\\0${byte.toString(8).padStart(3, '0')}`).join('');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
