import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from '../measure.ts';
import { printLine } from '../report.ts';
import type { PodNodes } from './pods.ts';
import { processesOf, proportionalSize } from './processes-of.ts';

const sessions = 100;

/** Measures what an idle session costs the login node, next to a forced `kubectl exec`. */
export async function podIdle(pods: PodNodes): Promise<void> {
  for (const [name, way] of [
    ['berth', pods.berth],
    ['kubectl exec', pods.kubectl],
  ] as const) {
    const before = memory(pods.uid);
    const clients = await openIdle(sessions, () => way(...idleWords));
    // Sessions that last return the memory of their start.
    await sleep(10_000);
    const after = memory(pods.uid);
    printLine(
      `${name}: ${clients.length} sessions; each ${each(before.relays, after.relays)} of the relay and ${each(before.sshd, after.sshd)} of sshd`,
    );
    await closeIdle(clients);
  }
}

function each(before: number, after: number): string {
  return `${((after - before) / sessions / 1024).toFixed(1)} MiB`;
}

/** Memory (Pss) of all relays, and of sshd for the user. KiB. */
function memory(uid: number): { readonly relays: number; readonly sshd: number } {
  const sum = (pids: readonly number[]): number =>
    pids.reduce((total, pid) => total + proportionalSize(pid), 0);
  return { relays: sum(processesOf(uid)), sshd: sum(processesOf(uid, /^sshd:/)) };
}

/** The remote command of a session at rest. */
export const idleWords = ['echo open; exec sleep 3600'];

/** Opens sessions, ten at a time. Resolves when all of them have printed something. */
export async function openIdle(count: number, command: () => Command): Promise<ChildProcess[]> {
  const clients: ChildProcess[] = [];
  for (let batch = 0; batch < count / 10; batch += 1) {
    const opened = Array.from({ length: 10 }, () => {
      const { file, args, env } = command();
      return spawn(file, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    });
    await Promise.all(
      opened.map((client) => {
        const ended = once(client, 'exit').then(([code]) => {
          throw new Error(`a session ended with ${String(code)} before it said anything`);
        });
        return Promise.race([once(client.stdout, 'data'), ended]);
      }),
    );
    clients.push(...opened);
  }
  return clients;
}

/** Ends the clients of sessions, also those that have ended already. */
export async function closeIdle(clients: readonly ChildProcess[]): Promise<void> {
  const open = clients.filter(
    ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
  );
  const ended = open.map((client) => once(client, 'exit'));
  for (const client of open) client.kill();
  await Promise.all(ended);
}
