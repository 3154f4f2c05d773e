import { glob } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { parseSshdConfigLines } from './rules/config-file.ts';
import type { SshdDirective } from './rules/directives.ts';
import { type MatchBlock, matchCriteria, type SshdConnection } from './rules/match.ts';
import { parseSshdOptions, type SshdOptions } from './rules/options.ts';
import { BerthError, isErrno } from '../errors.ts';
import { runProgram } from '../system/run-program.ts';
import { lintedText } from './linted-text.ts';

export interface SshdProgram {
  /** Absolute path of sshd(8). */
  readonly sshd: string;
  readonly config: string;
}

/** Milliseconds; sshd answers within some ten, unless a directory service hangs. */
const patience = 20_000;

/**
 * What sshd itself says of its configuration: `sshd -T`, as root, for it reads the host keys, and
 * with nothing of our environment.
 *
 * @param directives of that configuration
 * @throws `sshd-missing`, `sshd-refused`, `sshd-output`
 */
export async function effectiveOptions(
  { sshd, config }: SshdProgram,
  connection: SshdConnection,
  directives: readonly SshdDirective[],
): Promise<SshdOptions> {
  const { user, host, address, localAddress, localPort } = connection;
  const test = `user=${user},host=${host},addr=${address},laddr=${localAddress},lport=${localPort}`;
  const args = ['-T', '-f', config, '-C', test];
  const options = parseSshdOptions(await run(sshd, args, config), directives);
  if (options !== undefined) return options;
  throw new BerthError(`${sshd} -T printed no options`, {
    code: 'sshd-output',
    exit: 'unavailable',
    hint: 'OpenSSH 7.4 or later is wanted: see `sshd -V`.',
  });
}

async function run(sshd: string, args: string[], config: string): Promise<string> {
  const options = { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' }, timeout: patience, cwd: '/' };
  const { error, stdout, stderr } = await runProgram(sshd, args, options);
  if (error !== undefined) throw refused(sshd, config, stderr, error);
  return stdout;
}

function refused(sshd: string, config: string, stderr: string, cause: Error): BerthError {
  if (isErrno(cause, 'ENOENT', 'EACCES'))
    return new BerthError(`${sshd} cannot be run`, {
      code: 'sshd-missing',
      exit: 'unavailable',
      hint: 'Install the OpenSSH server, or name it with --sshd.',
      cause,
    });
  const reason = stderr.trim().split('\n').at(-1) ?? '';
  const folder = /^Missing privilege separation directory: (\S+)/.exec(reason)?.[1];
  return new BerthError(`sshd refuses ${config}: ${reason === '' ? cause.message : reason}`, {
    code: 'sshd-refused',
    exit: 'config',
    hint:
      folder === undefined
        ? `See \`${sshd} -t -f ${config}\`.`
        : `Start sshd once, or \`mkdir -m 0755 ${folder}\`.`,
    cause,
  });
}

export interface SshdConfigFiles {
  readonly blocks: readonly MatchBlock[];
  /** In the order in which sshd reads them. */
  readonly directives: readonly SshdDirective[];
  /** Every file that was read. */
  readonly files: readonly string[];
  /** The patterns of Include, absolute. */
  readonly includes: readonly string[];
}

/** As sshd has it. */
const deepestInclude = 16;

/**
 * The Match blocks and directives of a configuration, with Include followed as sshd does: relative to /etc/ssh, in
 * the order of glob(3). A Match ends with its file; one that includes a file also asks for itself.
 *
 * @throws `config-missing`, `config-unreadable`
 */
export async function readSshdConfig(config: string): Promise<SshdConfigFiles> {
  const blocks: MatchBlock[] = [];
  const directives: SshdDirective[] = [];
  const files: string[] = [];
  const includes: string[] = [];
  await readOne(config, [], 0);
  return { blocks, directives, files, includes };

  async function readOne(
    file: string,
    outer: MatchBlock['criteria'],
    depth: number,
  ): Promise<void> {
    files.push(file);
    let current: MatchBlock | undefined;
    for (const line of parseSshdConfigLines(await lintedText(file, 'Name it with --config.'))) {
      if (line.keyword === 'match') {
        const criteria = [...outer, ...matchCriteria(line)];
        current = { file, line: line.line, text: line.rest, criteria };
        blocks.push(current);
        continue;
      }
      const { keyword, words } = line;
      const { criteria = outer } = current ?? {};
      directives.push({ file, line: line.line, keyword, words, criteria });
      if (keyword === 'forcecommand' && current !== undefined) {
        const { forceCommand = line.rest, ...block } = current;
        const changed: MatchBlock = { ...block, forceCommand };
        blocks[blocks.indexOf(current)] = changed;
        current = changed;
      } else if (keyword === 'include' && depth < deepestInclude) {
        const patterns = words.map((word) => (isAbsolute(word) ? word : `/etc/ssh/${word}`));
        includes.push(...patterns);
        for (const included of await includedFiles(patterns))
          await readOne(included, criteria, depth + 1);
      }
    }
  }
}

async function includedFiles(patterns: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const pattern of patterns) {
    const files: string[] = [];
    for await (const file of glob(pattern)) files.push(file);
    found.push(...files.sort());
  }
  return found;
}
