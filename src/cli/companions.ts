import type { Command } from './kit/command.ts';

/** Commands that programs of their own beside `berth` have, with what they do: `berth verify` runs `berth-verify`. */
export const companions = {
  verify: 'Try what users do with SSH on a login node, with the clients of this machine',
} as const;

/** For help and completion. */
export const companionCommands: readonly Command[] = Object.entries(companions).map(
  ([command, describe]) => ({ command, describe, run: () => undefined }),
);

export interface CompanionCall {
  readonly name: string;
  /** For its program. */
  readonly words: readonly string[];
}

/**
 * The companion that a command line calls. No option is parsed: those of all commands have no value.
 *
 * @param words after `berth`
 */
export function companionCall(words: readonly string[]): CompanionCall | undefined {
  // The last word is being written.
  const whole = words[0] === '__complete' ? words.slice(1, -1) : words;
  const [first, second] = whole.filter((word) => !word.startsWith('-'));
  if (isCompanion(first)) return { name: first, words };
  if (first !== 'help' || whole !== words || !isCompanion(second)) return undefined;
  return { name: second, words: [...words.filter((word) => word !== 'help'), '--help'] };
}

function isCompanion(word: string | undefined): word is keyof typeof companions {
  return word !== undefined && Object.hasOwn(companions, word);
}
