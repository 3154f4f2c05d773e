import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { expect } from 'vitest';
import { run } from '../../../src/companions/verify/run-client.ts';
import { endHolder, ip, namespaceOf, startHolder } from '../login-node/network-namespace.ts';

/** A network namespace for one compute node, and a cable from it to the machine. RFC 2544 reserves the addresses for tests. */
export interface ComputeNetwork {
  /** Path of the namespace. */
  readonly path: string;
  /** The address of the machine, and of the node. */
  readonly near: string;
  readonly far: string;
  /** From now on, the network loses every packet, and says so to nobody. */
  silence(): Promise<void>;
  /** Ends that. */
  speak(): Promise<void>;
  /** The cable goes with the namespace. */
  remove(): Promise<void>;
}

/** One whose addresses no other run has. */
async function makeCable(holder: ChildProcess) {
  const peer = ['peer', 'name', 'eth0', 'netns', String(holder.pid)];
  for (;;) {
    const [third, fourth] = [randomInt(256), 4 * randomInt(64)];
    const cable = `comp-${third}-${fourth}`;
    const made = await run('ip', ['link', 'add', cable, 'type', 'veth', ...peer]);
    if (made.exitCode === 0) return { third, fourth, cable };
    expect(made.stderr).toContain('File exists');
  }
}

/** @param first the one that has the address of slurmctld, which this one has a route to */
export async function computeNetwork(first?: ComputeNetwork): Promise<ComputeNetwork> {
  const holder = await startHolder();
  const path = namespaceOf(holder);
  const { third, fourth, cable } = await makeCable(holder);
  const [near, far] = [1, 2].map((byte) => `198.19.${third}.${fourth + byte}`) as [string, string];
  await ip(undefined, 'address', 'add', `${near}/30`, 'dev', cable);
  await ip(undefined, 'link', 'set', cable, 'up');
  await ip(path, 'link', 'set', 'lo', 'up');
  await ip(path, 'address', 'add', `${far}/30`, 'dev', 'eth0');
  await ip(path, 'link', 'set', 'eth0', 'up');
  if (first !== undefined) await ip(path, 'route', 'add', first.near, 'via', near);
  // A station that does not exist has the addresses of both ends.
  const neighbours = async (verb: string, ...state: string[]): Promise<void> => {
    await ip(undefined, 'neigh', verb, far, 'dev', cable, ...state);
    await ip(path, 'neigh', verb, near, 'dev', 'eth0', ...state);
  };
  return {
    ...{ path, near, far },
    silence: () => neighbours('replace', 'lladdr', '02:00:00:00:00:01', 'nud', 'permanent'),
    speak: () => neighbours('del'),
    remove: () => endHolder(holder),
  };
}
