import { globSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { parseSshdConfigLines, type SshdRelease } from './rules/config-lines.ts';
import type { SshdDirective } from './rules/directives.ts';
import {
  type MatchBlock,
  type MatchCriterion,
  parseMatchCriteria,
  type SshdConnection,
} from './rules/match.ts';
import { matchesPatternList } from './rules/patterns.ts';
import { parseSshdOptions, type SshdOptions } from './rules/options.ts';
import { BerthError, isErrno } from '../../system/errors/berth-error.ts';
import { getent } from '../../system/getent.ts';
import { runProgram } from '../../system/run-program.ts';
import { readConfigText } from './read-config-text.ts';

export interface SshdProgram {
  /** Absolute path of sshd(8). */
  readonly sshd: string;
  readonly config: string;
}

/** Milliseconds; sshd takes some ten, unless a directory service hangs. */
const timeoutMs = 20_000;

/**
 * The effective options for a connection, from `sshd -T`. Runs as root, because sshd reads the host keys, and with
 * an environment of its own.
 *
 * @param directives The lines of that configuration.
 * @throws {BerthError} `sshd-missing`, `sshd-refused`, `sshd-output`
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
  throw notOpenSsh(`${sshd} -T printed no options`);
}

function notOpenSsh(message: string): BerthError {
  const hint = 'It must be OpenSSH 7.4 or later: see `sshd -V`.';
  return new BerthError('sshd-output', message, { hint });
}

async function run(sshd: string, args: string[], config: string): Promise<string> {
  const { error, stdout, stderr } = await runProgram(sshd, args, { timeoutMs });
  if (error !== undefined) throw refused(sshd, config, stderr, error);
  return stdout;
}

function refused(sshd: string, config: string, stderr: string, cause: Error): BerthError {
  if (isErrno(cause, 'ENOENT', 'EACCES'))
    return new BerthError('sshd-missing', `could not run ${sshd}`, { cause });
  const directory = /^Missing privilege separation directory: (\S+)/m.exec(stderr)?.[1];
  return directory === undefined
    ? new BerthError('sshd-refused', `sshd refuses ${config}: ${saidBySshd(stderr, cause)}`, {
        hint: `Run \`${sshd} -t -f ${config}\`.`,
        cause,
      })
    : new BerthError(
        'sshd-refused',
        `${config} was not checked: sshd has not run since the boot, and ${directory} does not exist`,
        {
          hint: `Run \`mkdir -m 0755 ${directory}\`, as a start of sshd does, and then this again.`,
          cause,
        },
      );
}

/** The last line of several only counts the ones before, which name the options. */
export function saidBySshd(stderr: string, cause: Error): string {
  const said = stderr.trim().split(/\r?\n/).filter(Boolean);
  return said.length === 0 ? cause.message : said.join('; ');
}

export interface SshdConfigFiles {
  readonly blocks: readonly MatchBlock[];
  /** In the order in which sshd reads them. */
  readonly directives: readonly SshdDirective[];
  /** Every file that was read. */
  readonly files: readonly string[];
  /** Absolute patterns of Include. */
  readonly includes: readonly string[];
}

/** sshd's own limit. */
const deepestInclude = 16;

/**
 * Parses the Match blocks and directives of a configuration. Follows Include as sshd does: relative to /etc/ssh, in
 * the order of glob(3). A Match ends at the end of its file; its criteria also apply to files included in it.
 *
 * @param sshd Path of the program that reads it; without it, lines are split as the newest sshd does.
 * @throws {BerthError} `config-missing`, `config-unreadable`, `nss-failed`, `sshd-missing`, `sshd-output`
 */
export async function parseSshdConfigFiles(
  config: string,
  sshd?: string,
): Promise<SshdConfigFiles> {
  const version = sshd === undefined ? undefined : await versionOf(sshd, config);
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
    const text = await readConfigText(file, 'Name it with --sshd-config.');
    for (const line of parseSshdConfigLines(text, version?.release)) {
      if (line.keyword === 'match') {
        const own = await withPortNumbers(parseMatchCriteria(line));
        const criteria = [...outer, ...own.map((one) => withVersion(one, version?.text))];
        current = { file, line: line.line, text: line.rest, criteria };
        blocks.push(current);
        continue;
      }
      const { keyword, args } = line;
      const { criteria = outer } = current ?? {};
      directives.push({ file, line: line.line, keyword, args, criteria });
      if (keyword === 'forcecommand' && current !== undefined) {
        const { forceCommand = line.rest, ...block } = current;
        const changed: MatchBlock = { ...block, forceCommand };
        blocks[blocks.indexOf(current)] = changed;
        current = changed;
      } else if (keyword === 'include' && depth < deepestInclude) {
        const patterns = args.map((word) => (isAbsolute(word) ? word : `/etc/ssh/${word}`));
        includes.push(...patterns);
        for (const included of patterns.flatMap(globbed))
          await readOne(included, criteria, depth + 1);
      }
    }
  }
}

interface SshdVersion {
  readonly release: SshdRelease;
  /** `OpenSSH_10.0p2 Debian-5`, to which `Match Version` compares. */
  readonly text: string;
}

async function versionOf(sshd: string, config: string): Promise<SshdVersion> {
  // A release without -V prints its usage, which begins with the version, too.
  const { error, stderr } = await runProgram(sshd, ['-V'], { timeoutMs });
  const [text, major, minor] = /\bOpenSSH_(\d+)\.(\d+)[^,\n]*/.exec(stderr) ?? [];
  if (text !== undefined) return { release: Number(major) * 100 + Number(minor), text };
  if (isErrno(error)) throw refused(sshd, config, stderr, error);
  throw notOpenSsh(`${sshd} -V printed no version of OpenSSH`);
}

/** glob(3), which has fewer wildcards than Node. */
function globbed(pattern: string): string[] {
  return globSync(pattern.replaceAll(/\*+/g, '*').replaceAll(/[{(]/g, '[$&]')).sort();
}

/** `Match Version` is true of every connection, or of none. */
function withVersion(one: MatchCriterion, version: string | undefined): MatchCriterion {
  if (one.name !== 'version' || version === undefined) return one;
  return { name: matchesPatternList(version, one.argument) ? 'all' : 'none', argument: '' };
}

/** `LocalPort ssh`: sshd looks names up in services(5). */
async function withPortNumbers(criteria: readonly MatchCriterion[]): Promise<MatchCriterion[]> {
  const named = (one: MatchCriterion) => one.name === 'localport' && !/^\d+$/.test(one.argument);
  return await Promise.all(
    criteria.map(async (one) => {
      if (!named(one)) return one;
      const [line = ''] = await getent('services', [`${one.argument}/tcp`]);
      return { ...one, argument: /^\S+\s+(\d+)\/tcp/.exec(line)?.[1] ?? one.argument };
    }),
  );
}
