import type { SshServer } from '../../rig/login-node/live-session.ts';
import { medians, runInterleaved, type Command } from '../measure.ts';
import { wallRatio } from '../measured-ratio.ts';
import { checkBound, printLine, table } from '../report.ts';
import { sshCommand, type Ways } from './ways.ts';

const runs = 9;
const megabytes = 512;

/** Measures transfers in both directions, as fast as the cores of this machine encrypt. */
export async function bulk({ direct, balanced }: Ways): Promise<void> {
  const kinds: Readonly<Record<string, (server: SshServer) => Command>> = {
    download: (server) => sshCommand(server, `head -c ${megabytes}M /dev/zero`),
    upload: (server) => {
      const { file, args, env } = sshCommand(server, 'cat >/dev/null');
      const words = [file, ...args].map((word) => `'${word}'`).join(' ');
      return { file: '/bin/sh', args: ['-c', `head -c ${megabytes}M /dev/zero | ${words}`], env };
    },
  };
  for (const [kind, command] of Object.entries(kinds)) {
    const before = await processorMs(balanced);
    const samples = await runInterleaved<keyof Ways>(runs, {
      direct: () => Promise.resolve(command(direct)),
      balanced: () => Promise.resolve(command(balanced)),
    });
    const used = (await processorMs(balanced)) - before;
    printLine(kind);
    table(samples);
    const [without, with_] = [medians(samples.direct).wall, medians(samples.balanced).wall];
    printLine(
      `     ${((megabytes * 1000) / without).toFixed(0)} MB/s direct, ${((megabytes * 1000) / with_).toFixed(0)} MB/s balanced; haproxy: ${((used / runs / megabytes) * 1000).toFixed(0)} ms of processor time per GB`,
    );
    const throughput = wallRatio(samples.direct, samples.balanced);
    checkBound(`${kind}: throughput, of a direct connection's`, throughput, { atLeast: 0.95 });
  }
}

/** User and system time of haproxy's processes so far, in milliseconds. */
async function processorMs({ host }: Ways['balanced']): Promise<number> {
  // Fields 14 and 15 of proc_pid_stat(5), in hundredths of a second.
  const script = `cat $(pgrep haproxy | sed 's,.*,/proc/&/stat,') | awk '{ sum += $14 + $15 } END { print sum }'`;
  const { stdout } = await host.asRoot(['sh', '-c', script]);
  return Number(stdout.toString()) * 10;
}
