import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { publicDirectory } from '../../rig/site/directories.ts';
import type { SshHost } from '../../rig/login-node/ssh-host.ts';
import { runInterleaved, measure, medians, type Command } from '../measure.ts';
import { wallRatio } from '../measured-ratio.ts';
import { checkBound, printLine, table } from '../report.ts';
import { sshCommand, user, type Nodes } from './nodes.ts';

const runs = 5;
const megabytes = 1024;

/** Measures transfers of a gigabyte and a long listing, in a running session and with plain sshd. */
export async function bulk({ plain, warm }: Nodes): Promise<void> {
  for (const node of [plain, warm]) await measure(sshCommand(node, prepare));
  const target = join(publicDirectory, 'bench-ssh.out');
  const kinds: Readonly<Record<string, (node: SshHost) => Command>> = {
    scp: (node) => copyCommand(node, 'scp', ['-q', `${user}@127.0.0.1:big`, target]),
    sftp: (node) => copyCommand(node, 'sftp', ['-q', `${user}@127.0.0.1:big`, target]),
    'tar pipe': (node) => shell(node, 'tar cf - big', '| cat > /dev/null'),
    'a million lines': (node) => shell(node, 'find many', '| wc -l'),
  };
  const starts = await runInterleaved<'berth' | 'plain'>(runs, {
    berth: () => Promise.resolve(sshCommand(warm, 'true')),
    plain: () => Promise.resolve(sshCommand(plain, 'true')),
  });
  const begin = { berth: medians(starts.berth).wall, plain: medians(starts.plain).wall };
  for (const [kind, command] of Object.entries(kinds)) {
    const samples = await runInterleaved<'berth' | 'plain'>(runs, {
      berth: () => Promise.resolve(command(warm)),
      plain: () => Promise.resolve(command(plain)),
    });
    table(samples);
    const throughput = wallRatio(samples.plain, samples.berth);
    checkBound(`${kind}, of plain sshd's throughput`, throughput, { atLeast: 0.95 });
    const [ours, theirs] = [medians(samples.berth).wall, medians(samples.plain).wall];
    // The start of a session is measured elsewhere.
    const flow = (theirs - begin.plain) / (ours - begin.berth);
    printLine(`     without the start of the session: ${flow.toFixed(2)}`);
  }
  await rm(target, { force: true });
  await measure(sshCommand(plain, 'rm -rf big many'));
}

/** A million hard links to one file, so that find prints a million names without filling the disk. */
const prepare = [
  `[ -s big ] || head -c ${megabytes}M /dev/zero > big`,
  '[ -d many ] || { mkdir many && cd many && seq 1000 | xargs mkdir',
  'cd 1 && seq 999 | xargs touch && cd .. && for d in $(seq 2 1000); do cp -al 1/. $d; done; }',
].join(' && ');

function copyCommand(node: SshHost, program: string, words: readonly string[]): Command {
  return {
    file: `/usr/bin/${program}`,
    args: [...node.clientOptions(user), '-P', String(node.port), ...words],
    env: { PATH: '/usr/bin:/bin', HOME: '/root' },
  };
}

function shell(node: SshHost, remote: string, rest: string): Command {
  const { file, args, env } = sshCommand(node, remote);
  const words = [file, ...args].map((word) => `'${word}'`).join(' ');
  return { file: '/bin/sh', args: ['-c', `${words} ${rest}`], env };
}
