/** Runs in the mount namespace that `FilesOfHost` makes: breaks a file in one way after the other, and runs a command each time. */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { runCommandLine } from '../../../../scripts/all-commands.ts';

/** What a run has its own copy of: what it writes there is thrown away. */
const directories = ['/etc', '/root', '/var/lib', '/run'];

/** Milliseconds. */
const longest = 20_000;

export interface Work {
  /** The files that are laid over those of the machine. */
  readonly host: string;
  /** For copies and results: `NAME.output`, and a line of `results` for each run. */
  readonly directory: string;
  readonly programs: string;
  readonly command: string;
  /** The file that is broken, and shell commands that break it, each with a name. */
  readonly file: string;
  readonly ways: readonly (readonly [name: string, make: string])[];
}

export interface Result {
  readonly name: string;
  /** Undefined if the command did not end in time. */
  readonly status?: number;
  /** The files that it wrote. */
  readonly written: readonly string[];
}

const work = JSON.parse(process.argv[2] ?? '') as Work;
/** Commands of `berth` without a shell's syntax need no process of their own. */
const words = /^berth ([^|;&<>$"'*]+)$/.exec(work.command)?.[1]?.split(' ');
void runAll();

async function runAll(): Promise<void> {
  for (const [index, [name, make]] of work.ways.entries()) {
    const upper = breakFile(String(index), make, index > 0);
    const before = new Set(filesBelow(upper));
    const finished = (status?: number): void => {
      const written = filesBelow(upper).filter((file) => !before.has(file));
      const result: Result = {
        ...{ name, written: written.map((file) => file.slice(0, file.lastIndexOf(' '))) },
        ...(status === undefined ? {} : { status }),
      };
      appendFileSync(join(work.directory, 'results'), `${JSON.stringify(result)}\n`);
    };
    const output = join(work.directory, `${name}.output`);
    finished(words === undefined ? inShell(output) : await inThisProcess(words, output));
  }
}

/** @returns the directory with what is written from now on */
function breakFile(run: string, make: string, again: boolean): string {
  const copies = join(work.directory, run);
  const mounts = directories.map((path, index) => {
    const [upper, state] = [join(copies, 'upper', path), join(copies, `work${index}`)];
    for (const one of [upper, state]) mkdirSync(one, { recursive: true });
    return `mount -t overlay overlay -o lowerdir=${work.host}${path}:${path},upperdir=${upper},workdir=${state} ${path}`;
  });
  const steps = [...(again ? [`umount -l ${directories.join(' ')}`] : []), ...mounts, make];
  const script = `set -eu; f=$1\n${steps.join('\n')}`;
  const { status, stderr } = spawnSync('bash', ['--norc', '-c', script, 'bash', work.file]);
  if (status !== 0) throw new Error(`${make}: ${String(stderr)}`);
  return join(copies, 'upper');
}

/** Each file with its inode and the time of its last change. */
function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => {
      const { ino, mtimeMs } = lstatSync(join(parentPath, name));
      return `${join(parentPath, name).slice(directory.length)} ${ino}:${mtimeMs}`;
    });
}

function inShell(output: string): number | undefined {
  const file = openSync(output, 'w');
  const { status } = spawnSync('timeout', ['-k', '1', '20', 'bash', '--norc', '-c', work.command], {
    ...{ cwd: work.programs, stdio: ['ignore', file, file] },
  });
  closeSync(file);
  return status === null || status === 124 || status === 137 ? undefined : status;
}

/** As src/cli/berth.ts. */
async function inThisProcess(args: string[], output: string): Promise<number | undefined> {
  process.chdir(work.programs);
  let text = '';
  let status = 0;
  const stream = { isTTY: false, write: (one: string) => (text += one) };
  const run = runCommandLine(args, {
    ...{ env: process.env, stdout: stream, stderr: stream, stdinIsTTY: false, wantsJson: false },
    ...{ columns: undefined, version: '0', now: Date.now },
    ...{ program: join(work.programs, 'berth'), toolsDir: join(work.programs, 'files') },
    finish: (wanted) => {
      status = Math.max(status, wanted);
    },
  });
  const late = setTimeout(longest, 'late', { ref: false });
  const end = await Promise.race([run, late]);
  // src/system/as-user.ts becomes root again in a later turn of the event loop.
  while (end !== 'late' && process.geteuid?.() !== 0) await setImmediate();
  writeFileSync(output, text);
  return end === 'late' ? undefined : status;
}
