import { measureConcurrently, measure, medians, runInterleaved, type Command } from '../measure.ts';
import { checkBound, printLine, table } from '../report.ts';
import type { JobNodes } from './job-nodes.ts';
import { requestsByType } from './slurm-requests.ts';

const [runs, bulkRuns, megabytes, sessions] = [11, 3, 256, 100];

type Way = 'berth' | 'srun' | 'hop' | 'direct';
const ways = ['berth', 'srun', 'hop', 'direct'] as const;

function each(nodes: JobNodes, ...words: string[]): Record<Way, () => Promise<Command>> {
  const way = (name: Way) => () => Promise.resolve(nodes[name](...words));
  return { berth: way('berth'), srun: way('srun'), hop: way('hop'), direct: way('direct') };
}

/** `ssh host true` into a running job, and what slurmctld is asked for it. */
export async function jobWarm(nodes: JobNodes): Promise<void> {
  const samples = await runInterleaved<Way>(runs, each(nodes, 'true'), 500);
  table(samples);
  for (const way of ways) {
    const before = await requests(nodes);
    for (let run = 0; run < 5; run += 1) await measure(nodes[way]('true'));
    printLine(`${way}: ${(await requests(nodes)) - before} requests to slurmctld for 5 sessions`);
  }
}

/** 256 MiB out of the job and into it. */
export async function jobStream(nodes: JobNodes): Promise<void> {
  const begin = await runInterleaved<Way>(bulkRuns, each(nodes, 'true'));
  const shell = ({ file, args, env }: Command, before: string, after: string): Command => {
    const words = [file, ...args].map((word) => `'${word}'`).join(' ');
    return { file: '/bin/sh', args: ['-c', `${before} ${words} ${after}`], env };
  };
  const zeros = `head -c ${megabytes}M /dev/zero`;
  const directions: Record<string, (way: Way) => Command> = {
    out: (way) => shell(nodes[way](zeros), '', '| cat > /dev/null'),
    in: (way) => shell(nodes[way]('cat > /dev/null'), `${zeros} |`, ''),
  };
  for (const [direction, command] of Object.entries(directions)) {
    const of = (way: Way) => () => Promise.resolve(command(way));
    const samples = await runInterleaved<Way>(bulkRuns, {
      ...{ berth: of('berth'), srun: of('srun'), hop: of('hop'), direct: of('direct') },
    });
    table(samples);
    const seconds = (way: Way): number =>
      (medians(samples[way]).wall - medians(begin[way]).wall) / 1000;
    for (const way of ways)
      printLine(`${direction}, ${way}: ${(megabytes / seconds(way)).toFixed(0)} MiB/s`);
    const share = (than: Way) => ({ value: seconds(than) / seconds('berth') });
    checkBound(`${direction}, of plain ssh to the node`, share('direct'), { atLeast: 0.8 });
    checkBound(`${direction}, of ssh through the login node`, share('hop'), { atLeast: 0.8 });
  }
}

/** 100 sessions at once, each through its own connection. */
export async function jobMany(nodes: JobNodes): Promise<void> {
  for (const way of ways) {
    const before = await requests(nodes);
    const commands = Array.from({ length: sessions }, () => nodes[way]('sleep 1'));
    const { samples, seconds } = await measureConcurrently(commands, sessions);
    const asked = (await requests(nodes)) - before;
    printLine(
      `${way}: ${samples.length} sessions in ${seconds.toFixed(1)} s, ${asked} requests to slurmctld`,
    );
  }
}

/** The requests of users that slurmctld has answered. */
async function requests({ site }: JobNodes): Promise<number> {
  return [...(await requestsByType(site.login)).values()].reduce((sum, count) => sum + count, 0);
}
