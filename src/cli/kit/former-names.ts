import { type CommandPlace, commandPlace } from './command-place.ts';
import type { CommandNode } from './command.ts';

interface PresentNames {
  readonly args: readonly string[];
  readonly place: CommandPlace;
  /** What to write instead, one line each. */
  readonly notices: readonly string[];
}

/** Former names of commands and options go on; a notice says what took their place. */
export function withPresentNames(root: CommandNode, words: readonly string[]): PresentNames {
  const command = presentCommand(words);
  const args = command?.args ?? words;
  const place = commandPlace(root, args);
  const options = place.given.flatMap(([{ names, replacedBy }]) =>
    replacedBy === undefined ? [] : [`${names.join(' ')} is a former name: use ${replacedBy}`],
  );
  const moved = command === undefined ? [] : [`${command.was} is a former name: use ${command.is}`];
  return { args, place, notices: [...moved, ...options] };
}

interface Moved {
  readonly was: string;
  readonly is: string;
  readonly args: readonly string[];
}

const ofClusters = ['--cluster', '--all-clusters', '--in-cluster'];

function presentCommand([first, ...rest]: readonly string[]): Moved | undefined {
  const names = rest.map((word) => word.split('=', 1)[0] ?? '');
  if (first === 'lint' && rest[0] === 'sshd')
    return {
      ...{ was: 'berth lint sshd', is: 'berth sshd lint' },
      args: ['sshd', 'lint', ...rest.slice(1)],
    };
  const cluster = names.find((name) => ofClusters.includes(name));
  if (first === 'reap' && cluster !== undefined)
    return {
      ...{ was: `berth reap ${cluster}`, is: 'berth clusters reap' },
      args: ['clusters', 'reap', ...rest],
    };
  const at = names.indexOf('--site');
  if (first === 'render' && at >= 0) {
    const [, inOption] = /=(.*)$/.exec(rest[at] ?? '') ?? [];
    const directory = inOption ?? rest[at + 1];
    const others = rest.toSpliced(at, inOption === undefined ? 2 : 1);
    return {
      ...{ was: 'berth render --site DIR', is: 'berth render site DIR' },
      args: ['render', 'site', ...(directory === undefined ? [] : [directory]), ...others],
    };
  }
  return undefined;
}

/** `-ojson` as `-o json`: kubectl and getopt(3) accept it, yargs takes each letter for an option. */
export function splitShortOutput(args: readonly string[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  return args.flatMap((arg, n) => {
    const [, letters, value] = /^(-[A-Za-z]*o)(text|wide|json|yaml)$/.exec(arg) ?? [];
    return letters === undefined || value === undefined || n > end ? [arg] : [letters, value];
  });
}

/**
 * Whether errors are wanted as JSON, also of a command line that cannot be parsed.
 *
 * @param args from `splitShortOutput`, as `-o json`, `--output=json`, or with other letters before the `o`: `-Ao json`
 */
export function asksForJson(args: readonly string[]): boolean {
  const option = /^(?:--output|-[A-Za-z]*o)(=json)?$/;
  return args.some((arg, n) => {
    const found = option.exec(arg);
    return found !== null && (found[1] !== undefined || args[n + 1] === 'json');
  });
}
