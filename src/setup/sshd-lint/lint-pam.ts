import { constants, globSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { pamEnvFile, pamExecOf, pamFindings } from './rules/pam-findings.ts';
import { type PamFault, type PamInclude, type PamLine, parsePam } from './rules/pam-lines.ts';
import { namedByPam } from './rules/pam-lists.ts';
import type { NamedAccounts } from './rules/directives.ts';
import { type SshdFinding, weakness } from './rules/sshd-finding.ts';
import { expectBerthError } from '../../system/errors/berth-error.ts';
import { readConfigText } from './read-config-text.ts';
import { replaceableFindings } from './lint-file-permissions.ts';

/** Where libpam looks for services and included files, in this order. */
const directories = ['/etc/pam.d', '/usr/lib/pam.d'];
/** libpam's own limit. */
const deepestInclude = 32;

/**
 * Findings about sshd's PAM stack, with included files.
 *
 * @param copy A file to read instead of the service's own. Its includes are read from the host, and its owner and
 *   mode are not checked.
 */
export async function pamFileFindings(service: string, copy?: string): Promise<SshdFinding[]> {
  let stack: PamStack;
  try {
    stack = await readPamStack(service, copy);
  } catch (error) {
    expectBerthError(error);
    return [
      weakness(
        'pam-unreadable',
        `${error.message}: the PAM stack of sshd was not checked`,
        "restore the distribution's file",
      ),
    ];
  }
  const { file, files, entries } = stack;
  const lines = entries.filter((entry): entry is PamLine => 'module' in entry);
  const paths = await namedPaths(lines);
  const named = (option: 'conffile' | 'envfile'): string[] =>
    lines.flatMap((line) => pamEnvFile(line, option) ?? []);
  const trusted = [...files].filter((one) => one !== copy || directories.includes(dirname(one)));
  const writable = [
    ...trusted,
    ...paths.modules.values(),
    ...paths.programs,
    ...named('conffile'),
    ...named('envfile'),
  ];
  const missing = {
    modules: paths.missingModules,
    programs: await unusable(paths.programs, constants.X_OK),
    files: await unusable(named('conffile'), constants.R_OK),
  };
  return [
    ...pamFindings(entries, missing, file),
    ...(
      await Promise.all(
        [...new Set(writable)].map((path) => replaceableFindings(path, 'program-writable')),
      )
    ).flat(),
  ];
}

/**
 * The accounts and groups whom the lists of sshd's PAM stack admit by name. Nobody if the stack cannot be read, which
 * `pamFileFindings` reports.
 */
export async function pamNamedAccounts(service: string, copy?: string): Promise<NamedAccounts> {
  try {
    const { entries } = await readPamStack(service, copy);
    return await namedByPam(
      entries.filter((entry) => 'module' in entry),
      async (pattern) => {
        const lists = globSync(pattern).map((list) => readConfigText(list, '').catch(() => ''));
        return (await Promise.all(lists)).join('\n');
      },
    );
  } catch (error) {
    expectBerthError(error);
    return { users: [], groups: [] };
  }
}

interface PamStack {
  readonly file: string;
  /** With included files. */
  readonly files: ReadonlySet<string>;
  readonly entries: readonly (PamLine | PamFault)[];
}

async function readPamStack(service: string, copy?: string): Promise<PamStack> {
  const entries: (PamLine | PamFault)[] = [];
  const files = new Set<string>();
  const file = copy ?? (await fileOf(service));
  await read(file, { substack: false }, 0, 0);
  return { file, files, entries };

  async function read(
    path: string,
    { type, substack }: Pick<PamInclude, 'type' | 'substack'>,
    depth: number,
    level: number,
  ): Promise<void> {
    files.add(path);
    const inner = level + (substack ? 1 : 0);
    for (const entry of parsePam(await readConfigText(path, 'Give its path with --pam.'), path)) {
      if ('fault' in entry) {
        // The file may have been included before, for another type.
        if (!entries.some((one) => one.file === path && one.line === entry.line))
          entries.push(entry);
      } else if (type !== undefined && entry.type !== undefined && entry.type !== type) continue;
      else if ('module' in entry) entries.push({ ...entry, level: inner });
      else if (depth < deepestInclude) {
        const wanted = entry.type ?? type;
        const what = {
          substack: entry.substack,
          type: wanted,
        };
        await read(await fileOf(entry.include), what, depth + 1, inner);
      }
    }
  }
}

/** The first path that exists, or the first one if none does. */
async function fileOf(name: string): Promise<string> {
  const candidates = isAbsolute(name) ? [name] : directories.map((one) => join(one, name));
  for (const path of candidates) if (await isUsable(path, constants.F_OK)) return path;
  return candidates[0] ?? name;
}

interface NamedPaths {
  /** Absolute path by the name in the line. */
  readonly modules: ReadonlyMap<string, string>;
  readonly missingModules: ReadonlySet<string>;
  readonly programs: readonly string[];
}

async function namedPaths(lines: readonly PamLine[]): Promise<NamedPaths> {
  const homes = moduleDirectories();
  const modules = new Map<string, string>();
  const missingModules = new Set<string>();
  for (const name of new Set(lines.map(({ module }) => module))) {
    // `$ISA` stands for a directory of the architecture, or nothing.
    const candidates = isAbsolute(name) ? [name] : homes.map((home) => join(home, name));
    for (const path of candidates)
      if (!modules.has(name) && (await isUsable(path, constants.R_OK))) modules.set(name, path);
    const isKnown = isAbsolute(name) || homes.length > 0;
    if (!modules.has(name) && isKnown && !name.includes('$ISA')) missingModules.add(name);
  }
  const programs = lines.flatMap((line) => pamExecOf(line)?.program ?? []);
  return { modules, missingModules, programs: programs.filter((path) => isAbsolute(path)) };
}

/** libpam's compiled-in directory is not recorded anywhere, so this looks for directories with its own modules. */
function moduleDirectories(): string[] {
  const modules = globSync('/{,usr/}lib{,64,/*}/security/pam_permit.so');
  return modules.map((path) => dirname(path)).sort();
}

async function unusable(paths: readonly string[], mode: number): Promise<Set<string>> {
  const missing = new Set<string>();
  for (const path of paths) if (!(await isUsable(path, mode))) missing.add(path);
  return missing;
}

async function isUsable(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
