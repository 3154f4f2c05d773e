import { once } from 'node:events';
import { connect as open } from 'node:net';
import type { SshServer } from '../../rig/login-node/live-session.ts';
import { median, medians, runInterleaved } from '../measure.ts';
import { checkBound, printLine, table } from '../report.ts';
import { sshCommand, type Ways } from './ways.ts';

const runs = 60;
const banners = 200;

/** Measures the time until sshd's first line, and that of `ssh host true`. */
export async function connect({ direct, balanced }: Ways): Promise<void> {
  const waits: { direct: number[]; balanced: number[] } = { direct: [], balanced: [] };
  for (let run = 0; run < banners; run += 1) {
    waits.direct.push(await untilBanner(direct));
    waits.balanced.push(await untilBanner(balanced));
  }
  const [without, with_] = [median(waits.direct), median(waits.balanced)];
  printLine(`first line of sshd: ${without.toFixed(2)} ms direct, ${with_.toFixed(2)} ms balanced`);
  checkBound('ms added until the first line', { value: with_ - without }, { atMost: 3 });
  const samples = await runInterleaved<keyof Ways>(runs, {
    direct: () => Promise.resolve(sshCommand(direct, 'true')),
    balanced: () => Promise.resolve(sshCommand(balanced, 'true')),
  });
  table(samples);
  const value = medians(samples.balanced).wall - medians(samples.direct).wall;
  checkBound('ms added to `ssh host true`', { value }, { atMost: 3 });
}

/** Milliseconds from the start of a TCP connection until sshd says who it is. */
async function untilBanner({ port, address }: SshServer): Promise<number> {
  const started = performance.now();
  const socket = open(port, address);
  await once(socket, 'data');
  const ms = performance.now() - started;
  socket.destroy();
  return ms;
}
