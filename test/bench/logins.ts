import { hookRequests } from '../rig/site/hook-requests.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  measureConcurrently,
  runInterleaved,
  measure,
  type Command,
  type Sample,
} from './measure.ts';
import { cpuRatio, wallRatio } from './measured-ratio.ts';
import { floorCommand } from './floor.ts';
import type { OscHooks } from './osc.ts';
import type { BenchPart } from './parts.ts';
import type { Bench } from './bench-portal.ts';
import { checkBound, printLine, table } from './report.ts';

/** The settings cache does not trust files that were changed less than this many milliseconds ago. */
const settled = 2_500;

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);

export const laterLogin: BenchPart = {
  title: 'A later login',
  users: ['bench-later', 'bench-osc-later'],
  async run(bench, osc) {
    const mark = await bench.site.audit.mark();
    await warmUp(bench, osc);
    const floor = await floorCommand(bench, 'bench-later');
    const samples = await runInterleaved<'berth' | 'floor' | 'node' | 'osc'>(25, {
      berth: hookCommand(bench, 'bench-later'),
      floor: () => Promise.resolve(floor),
      node: () => Promise.resolve(bench.bareNode()),
      ...(osc === undefined ? {} : { osc: oscOf(bench, osc, 'bench-osc-later') }),
    });
    table(samples);
    compare(samples, { faster: 7.5, cpu: 6 });
    checkBound(
      'wall time compared with a program that only sends the requests',
      wallRatio(samples.berth, samples.floor),
      { atMost: 1.12 },
    );
    checkBound(
      'wall time compared with a bare Node start',
      wallRatio(samples.berth, samples.node),
      {
        atMost: 2.5,
      },
    );
    const last = await bench.site.audit.mark();
    await measure(await hookCommand(bench, 'bench-later')());
    checkBound('requests', (await hookRequests(bench.portal, last)).length, { atMost: 8 });
    printLine(
      `(${(await hookRequests(bench.portal, mark)).length} requests of the hook in this part)`,
    );
  },
};

const firsts = 12;

export const firstLogin: BenchPart = {
  title: 'A first login',
  users: [...numbered('bench-first', firsts), ...numbered('bench-osc-first', firsts)],
  async run(bench, osc) {
    await removeNamespaces(bench, this.users);
    await warmUp(bench, undefined);
    const samples = await runInterleaved<'berth' | 'osc'>(firsts, {
      berth: (run) => hookCommand(bench, `bench-first${run + 1}`)(),
      ...(osc === undefined
        ? {}
        : { osc: (run: number) => oscOf(bench, osc, `bench-osc-first${run + 1}`)() }),
    });
    table(samples);
    compare(samples, { faster: 5 });
    await removeNamespaces(bench, this.users);
  },
};

const many = 200;
const oscMany = 64;
const width = 32;

export const manyLogins: BenchPart = {
  title: `${many} first logins, ${width} at a time`,
  users: [...numbered('bench-many', many), ...numbered('bench-osc-many', oscMany)],
  async run(bench, osc) {
    await removeNamespaces(bench, this.users);
    await warmUp(bench, undefined);
    const ours = await measureConcurrently(
      await Promise.all(numbered('bench-many', many).map((user) => hookCommand(bench, user)())),
      width,
    );
    const rate = many / ours.seconds;
    printLine(`berth: ${rate.toFixed(1)} logins a second, none failed`);
    checkBound(
      'last 50 logins compared with the first 50',
      wallRatio(ours.samples.slice(-50), ours.samples.slice(0, 50)),
      {
        atMost: 1.25,
      },
    );
    if (osc !== undefined) {
      const theirs = await measureConcurrently(
        await Promise.all(
          numbered('bench-osc-many', oscMany).map((user) => oscOf(bench, osc, user)()),
        ),
        width,
      );
      const oscRate = oscMany / theirs.seconds;
      printLine(`osc: ${oscRate.toFixed(1)} logins a second (${oscMany} logins)`);
      checkBound(
        "throughput compared with OSC's scripts",
        { value: rate / oscRate },
        { atLeast: 6 },
      );
    }
    await removeNamespaces(bench, this.users);
  },
};

function compare(
  { berth, osc }: { readonly berth?: readonly Sample[]; readonly osc?: readonly Sample[] },
  wanted: { readonly faster: number; readonly cpu?: number },
): void {
  if (osc === undefined) return;
  checkBound("wall time of OSC's scripts compared with the hook", wallRatio(osc, berth), {
    atLeast: wanted.faster,
  });
  if (wanted.cpu !== undefined)
    checkBound("CPU time of OSC's scripts compared with the hook", cpuRatio(osc, berth), {
      atLeast: wanted.cpu,
    });
}

export function hookCommand(bench: Bench, user: string): () => Promise<Command> {
  return async () => bench.hook(user, await bench.tokens(user));
}

function oscOf(bench: Bench, osc: OscHooks, user: string): () => Promise<Command> {
  return async () => osc.command(bench.portal, user, await bench.tokens(user));
}

/** Fills the caches of settings and signing keys, as they are on a portal in use. */
export async function warmUp(bench: Bench, osc: OscHooks | undefined): Promise<void> {
  await sleep(settled);
  for (let run = 0; run < 2; run += 1) {
    await measure(await hookCommand(bench, 'bench-later')());
    if (osc !== undefined) await measure(await oscOf(bench, osc, 'bench-osc-later')());
  }
}

async function removeNamespaces(bench: Bench, users: readonly string[]): Promise<void> {
  const names = users.map((user) => `u-${user}`);
  for (let from = 0; from < names.length; from += 50)
    await bench.site.kubectl([
      ...['delete', 'namespace', '--ignore-not-found', '--wait=true'],
      ...names.slice(from, from + 50),
    ]);
}
