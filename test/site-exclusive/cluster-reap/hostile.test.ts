import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ensureNode } from '../../rig/site/kubernetes-node/node.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { sleepingPod } from '../../rig/site/sleeping-pod.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { jobPod, ReapSite } from './reap-site.ts';

let site: Site;
let host: ReapSite;

beforeAll(async () => {
  site = await openSite();
  host = await ReapSite.make(site);
});
afterEach(() => host.clear());
afterAll(() => host.remove());

/** A lifetime of 1s is over after two. */
const aWhile = (): Promise<void> => sleep(2_100);

/**
 * On a node that there is not, so that nobody ends it: a pod on none is gone with its deletion. The node has another name each
 * time: 40 s after Kubernetes' garbage collector has met a name, it removes all pods on that node.
 */
async function onNoNode(pod: object): Promise<void> {
  const { metadata, spec } = pod as { metadata: { namespace: string }; spec: object };
  const placed = { ...spec, nodeName: `no-node-of-${metadata.namespace}` };
  await host.cluster.create({ ...pod, metadata, spec: placed });
}

const graceOf = async (name: string, namespace: string): Promise<number | undefined> => {
  const live = await host.cluster.get('pod', name, namespace);
  return (live?.metadata as { deletionGracePeriodSeconds?: number } | undefined)
    ?.deletionGracePeriodSeconds;
};

const deletedFor = (name: string, at: string, seconds: number): Promise<string> =>
  host.cluster.kubectl([
    ...['delete', 'pod', name, '-n', at, '--wait=false', `--grace-period=${seconds}`],
  ]);

describe('a pod that would outlive its lifetime', () => {
  it('with a long grace period is given 30 seconds, whoever deleted it', async () => {
    const at = await host.namespace('mallory');
    const patient = jobPod(at, 'spec') as { spec: object };
    const terminationGracePeriodSeconds = 1_000_000;
    await onNoNode({ ...patient, spec: { ...patient.spec, terminationGracePeriodSeconds } });
    await onNoNode(jobPod(at, 'deleted'));
    await onNoNode(jobPod(at, 'has-time', { lifetime: '1h' }));
    await deletedFor('deleted', at, 1_000_000);
    await deletedFor('has-time', at, 1_000_000);
    await aWhile();

    const { exitCode, stdout } = await host.reap();

    expect([exitCode, stdout.split('\n').sort()]).toEqual([
      0,
      [
        `prod: ended pod ${at}/deleted, lifetime 1s (deleted before; grace period now 30 s)`,
        `prod: ended pod ${at}/spec, lifetime 1s`,
      ],
    ]);
    expect(await graceOf('deleted', at)).toBe(30);
    expect(await graceOf('spec', at)).toBe(30);
    expect(await graceOf('has-time', at)).toBe(1_000_000);
  });

  // The kubelet (1.36) goes by the first deletion alone: had the owner been first, it would take that one's
  // time (kubernetes#113606). So admission has a policy for deletions.
  it(
    'and ignores every signal ends on its node, its hook too',
    { timeout: 300_000 },
    async ({ skip }) => {
      const reason = site.skipReason('node');
      skip(reason !== undefined, reason);
      const node = await ensureNode(site);
      const at = await host.namespace('mallory');
      const ignoring = ['sh', '-c', "trap '' TERM HUP INT; while :; do sleep 1; done"];
      const preStop = { exec: { command: ['sleep', '1000000'] } };
      const pod = sleepingPod(
        await node.image('busybox'),
        at,
        { terminationGracePeriodSeconds: 1_000_000 },
        { command: ignoring, lifecycle: { preStop } },
      );
      const { name } = pod.metadata;
      const annotations = { 'pod.kubernetes.io/lifetime': '1s' };
      await host.cluster.create({ ...pod, metadata: { ...pod.metadata, annotations } });
      const ready = ['wait', '--for=condition=Ready', `pod/${name}`, '-n', at, '--timeout=110s'];
      await host.cluster.kubectl(ready);
      await aWhile();

      const { stdout } = await host.reap();

      expect(stdout).toBe(`prod: ended pod ${at}/${name}, lifetime 1s`);
      await waitFor({ what: 'the end of the pod', timeoutMs: 120_000, everyMs: 500 }, async () =>
        (await host.cluster.get('pod', name, at)) === undefined ? true : undefined,
      );
    },
  );
});

describe('one user with many objects', () => {
  it('delays only their own: namespaces take turns', async () => {
    const mallory = await host.namespace('mallory');
    const alice = await host.namespace('alice');
    const many = Array.from({ length: 8 }, (_, n) => jobPod(mallory, `job-${n}`));
    await host.cluster.create(...many);
    await aWhile();
    await host.cluster.create(jobPod(alice, 'old'));
    await aWhile();

    const { exitCode, stdout } = await host.reap('--max-pods', '2');

    expect(exitCode).toBe(0);
    expect(stdout).toContain(`ended pod ${alice}/old`);
    expect(stdout).toContain('left for the next run: 7 pods (jobs included) and 0 namespaces');
  });

  it(
    'costs the reaper no memory: what it does not need is not kept',
    { timeout: 240_000 },
    async () => {
      const at = await host.namespace('mallory');
      const count = 300;
      const big = 'x'.repeat(250_000);
      for (let from = 0; from < count; from += 10)
        await host.cluster.create(
          ...Array.from({ length: 10 }, (_, n) => ({
            ...{ apiVersion: 'v1', kind: 'ConfigMap' },
            metadata: {
              ...{ namespace: at, name: `big-${from + n}` },
              ...{ labels: { job: `j-${from + n}` }, annotations: { note: big } },
            },
          })),
        );
      await host.cluster.create(jobPod(at, 'old'));
      await aWhile();

      // All of them are 75 MB, a page is 4.
      const { exitCode, stdout, stderr } = await reapIn(48);

      expect([exitCode, stderr]).toEqual([0, '']);
      expect(stdout.trim()).toBe(`prod: ended pod ${at}/old, lifetime 1s`);
    },
  );
});

/** `berth reap` with a heap of so many MiB. */
async function reapIn(
  mebibytes: number,
): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }> {
  const words = [
    `--max-old-space-size=${mebibytes}`,
    join(installDirectory, 'berth'),
    ...host.words(),
  ];
  const child = spawn(join(installDirectory, 'node'), words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  const [exitCode] = (await once(child, 'close')) as [number];
  return { exitCode, stdout, stderr };
}
