import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { measure, runInterleaved, medians, type Command, type Sample } from '../measure.ts';
import { measuredWalls, wallRatio } from '../measured-ratio.ts';
import { checkBound, printLine, table } from '../report.ts';
import type { PodNodes } from './pods.ts';

const runs = 25;

/** How long to wait after a client has ended, for PAM's close. Milliseconds. */
const pauseMs = 500;

/** `ssh host true` into a running pod, next to a forced `kubectl exec` into the same pod. */
export async function podWarm(pods: PodNodes): Promise<void> {
  const commands = {
    berth: () => Promise.resolve(pods.berth('true')),
    'kubectl exec': () => Promise.resolve(pods.kubectl('true')),
    'without Berth': () => Promise.resolve(pods.kubectlAlone('true')),
  };
  await whileConnected(pods.berth('echo open; exec sleep 3600'), async () => {
    for (const command of Object.values(commands)) await measure(await command());
    const samples = await runInterleaved<keyof typeof commands>(runs, commands, pauseMs);
    table(samples);
    const wall = (name: keyof typeof commands): number => medians(samples[name]).wall;
    const ratio = wallRatio(samples.berth, samples['kubectl exec']);
    checkBound('wall, of a forced kubectl exec', ratio, { atMost: 1 });
    printLine(
      `     of one on a host without PAM's hook: ${(wall('berth') / wall('without Berth')).toFixed(2)}`,
    );
  });
  const first = await runInterleaved<keyof typeof commands>(7, commands, 3 * pauseMs);
  printLine('the only connection of its user, so that the token of pods is made anew:');
  table(first);
}

/**
 * A pod per connection, next to kubectl commands that create a pod and wait until it is Ready. A login to a running
 * pod shows the cost of SSH and exec, which both have in common.
 */
export async function podFresh(pods: PodNodes): Promise<void> {
  const { site, image, freshNamespace: namespace } = pods;
  let count = 0;
  const kubectl = `${site.kubectlPath} --kubeconfig ${site.adminKubeconfig} -n ${namespace}`;
  const run = (): Command => {
    const name = `bench-run-${(count += 1)}`;
    const made = `${kubectl} run ${name} --image=${image} --image-pull-policy=IfNotPresent --restart=Never --command -- sleep 600`;
    const ready = `${kubectl} wait --for=condition=Ready pod/${name} --timeout=60s`;
    return shell(`${made} && ${ready}`);
  };
  const commands = {
    berth: () => Promise.resolve(pods.fresh('true')),
    'a warm pod': () => Promise.resolve(pods.berth('true')),
    'kubectl run': () => Promise.resolve(run()),
  };
  const samples: Partial<Record<keyof typeof commands, Sample[]>> = {};
  const stay = 'echo open; exec sleep 3600';
  await whileConnected(pods.berth(stay), () =>
    whileConnected(pods.fresh(stay), async () => {
      for (let round = 0; round < 9; round += 1) {
        const taken = await runInterleaved<keyof typeof commands>(1, commands, 4 * pauseMs);
        for (const name of Object.keys(taken) as (keyof typeof commands)[])
          (samples[name] ??= []).push(...(taken[name] ?? []));
        await measure(shell(`${kubectl} delete pod bench-run-${count} --grace-period=0 --force`));
      }
    }),
  );
  table(samples);
  const alone = measuredWalls(
    [samples.berth, samples['a warm pod'], samples['kubectl run']],
    ([berth = 0, warm = 0, ready = 1]) => (berth - warm) / ready,
  );
  checkBound('the pod alone, of kubectl run until it is Ready', alone, { atMost: 1.1 });
  const whole = wallRatio(samples.berth, samples['kubectl run']);
  checkBound('the whole of ssh, of kubectl run until it is Ready', whole, { atMost: 1.5 });
}

function shell(script: string): Command {
  return {
    file: '/bin/sh',
    args: ['-c', script],
    env: { PATH: '/usr/bin:/bin', HOME: '/tmp' },
  };
}

/** Keeps another connection of the user open, so that closing one does not clean up what they share. */
export async function whileConnected(
  { file, args, env }: Command,
  work: () => Promise<void>,
): Promise<void> {
  const client = spawn(file, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  await once(client.stdout, 'data');
  try {
    await work();
  } finally {
    const gone = once(client, 'exit');
    client.kill();
    await gone;
  }
}
