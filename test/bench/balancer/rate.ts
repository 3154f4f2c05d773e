import { median, measureConcurrently } from '../measure.ts';
import { printLine } from '../report.ts';
import { sshCommand, type Ways } from './ways.ts';

const rounds = 5;
const connections = 40;

/** Measures how many `ssh host true` clients, sshd and haproxy on this machine can do together. */
export async function rate(ways: Ways): Promise<void> {
  const perSecond = { direct: [] as number[], balanced: [] as number[] };
  for (let round = 0; round < rounds; round += 1)
    for (const way of ['direct', 'balanced'] as const) {
      const commands = Array.from({ length: connections }, () => sshCommand(ways[way], 'true'));
      const { seconds } = await measureConcurrently(commands, 8);
      perSecond[way].push(connections / seconds);
    }
  const [without, with_] = [median(perSecond.direct), median(perSecond.balanced)];
  printLine(
    `${without.toFixed(1)} direct, ${with_.toFixed(1)} balanced (${(with_ / without).toFixed(2)})`,
  );
}
