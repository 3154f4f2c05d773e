import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isatty, WriteStream } from 'node:tty';
import packageJson from '../../../package.json' with { type: 'json' };
import { packagedVersion } from '../../system/program/build-id.ts';
import { exitNow, stuckThreads } from '../../system/exit-now.ts';
import { type Terminal, textOutputs } from './terminal.ts';

/** The main function of `berth` and of the programs of its companions. */
export function main(run: (words: readonly string[], terminal: Terminal) => Promise<void>): void {
  const outputs = textOutputs();
  // The only place in src/ that reads the environment.
  // eslint-disable-next-line no-restricted-properties
  const { env } = process;
  // /usr/local/sbin/berth is a symlink into the prefix.
  const program = realpathSync(process.argv[1] ?? '/');
  let status = 0;
  const finish = (wanted: number): void => {
    status = Math.max(status, wanted);
    process.exitCode = status;
  };
  const args = splitShortOutput(process.argv.slice(2));
  void run(args, {
    env,
    stdout: outputs.stdout,
    stderr: outputs.stderr,
    stdinIsTTY: isatty(0),
    wantsJson: asksForJson(args),
    columns: columnsForHelp(args),
    version: packagedVersion ?? packageJson.version,
    program,
    toolsDir: join(dirname(program), 'files'),
    now: Date.now,
    finish,
  }).finally(async () => {
    finish(await outputs.finished());
    // They would keep the process running.
    if (stuckThreads()) exitNow(status, env.BERTH_SHELL);
  });
}

/** Only for help: it opens the terminal again. */
function columnsForHelp(args: readonly string[]): number | undefined {
  const wanted = args.some((arg) => ['help', '--help', '-h'].includes(arg));
  const columns = wanted && isatty(1) ? new WriteStream(1).columns : 0;
  // 0 is that of a terminal without a size.
  return columns === 0 ? undefined : columns;
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
