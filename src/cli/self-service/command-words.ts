import { parseArgs } from 'node:util';
import { BerthError } from '../../system/errors/berth-error.ts';
import { selfServiceWords } from '../../sessions/request/self-service-command.ts';

/** What a user asks of the login. */
export interface AskedCommand {
  readonly name: (typeof commandNames)[number];
  /** What `end` ends. */
  readonly names: readonly string[];
  readonly all: boolean;
}

const commandNames = ['sessions', 'end', 'profiles', 'status', 'help'] as const;

/**
 * Parses a command line such as `berth end berth-base`.
 *
 * @param command as the client sent it; its first word is `word`
 * @throws {BerthError} `usage`
 */
export function askedCommand(command: string, word: string): AskedCommand {
  const words = selfServiceWords(command);
  if (words === undefined)
    throw usage(
      'a command for the login may contain only letters, digits and `_ . , : / = @ + -`',
      `For a program ${word} in the container, run \`command ${word} …\`.`,
    );
  const { values, positionals } = parsed(words, word);
  const [first = 'help', ...names] = positionals;
  const name = values.help ? 'help' : commandNames.find((one) => one === first);
  if (name === undefined) throw usage(`there is no command ${word} ${first}`, commandsHint(word));
  const { all } = values;
  if (name !== 'end' && name !== 'help' && (names.length > 0 || all))
    throw usage(`${word} ${name} takes no ${all ? '--all' : 'names'}`, commandsHint(word));
  if (name === 'end' && names.length > 0 === all)
    throw usage(
      `${word} end needs ${all ? 'either names or --all' : 'names, or --all'}`,
      `\`${word} sessions\` has the names.`,
    );
  return { name, names, all };
}

interface ParsedWords {
  readonly values: { readonly all: boolean; readonly help: boolean };
  readonly positionals: readonly string[];
}

function parsed(words: readonly string[], word: string): ParsedWords {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        all: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    const [first = ''] = thrown.message.split('. ');
    throw usage(first, commandsHint(word));
  }
}

function commandsHint(word: string): string {
  return `Commands are ${commandNames.join(', ')}: see \`ssh HOST ${word} help\`.`;
}

function usage(message: string, hint: string): BerthError {
  return new BerthError('usage', message, { hint, forUser: true });
}

/** What `berth help` prints. @param word the first word of all commands */
export function usageText(word: string): string {
  return `Usage: ssh HOST ${word} COMMAND

The login answers these commands itself, without a container.

  ${word} sessions      Your containers, pods and jobs, and what ends them
  ${word} end NAME...   End them, with all that runs in them; --all for all of them
  ${word} profiles      What you may use, and what you can choose
  ${word} status        Your jobs and their time left, quotas, credentials for kubectl
  ${word} help          This text

Options:
  -h, --help   This text

Examples:
  # End a container
  ssh HOST ${word} end berth-base
  # A session with another profile
  ssh -o SetEnv=BERTH_PROFILE=NAME HOST
  # A program ${word} in the container
  ssh HOST command ${word} ARGUMENTS
`;
}
