import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LiveCluster } from '../../../rig/site/live-cluster.ts';
import { ensureNode } from '../../../rig/site/kubernetes-node/node.ts';
import { openSite } from '../../../rig/site/site.ts';
import { refusedLogin } from '../../../rig/login-node/refused-login.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

vi.setConfig({ hookTimeout: 600_000 });

const user = 'pod-place';
const namespace = `u-${user}`;
const key = 'berth.dev/test';
const gpu = 'example.com/gpu';
const volume = `${user}-data`;

let pods: PodHost;
let cluster: LiveCluster;
let node: string;
beforeAll(async () => {
  const site = await openSite();
  cluster = new LiveCluster(site);
  node = (await ensureNode(site)).name;
  await removeVolume();
  pods = await startPodHost(site, {
    mode: 'forced',
    users: { [user]: [] },
    profile: {
      deadline: '5s',
      pod: {
        node_selector: { [key]: 'gpus' },
        tolerations: [{ key, operator: 'Exists', effect: 'NoSchedule' }],
        extended: { [gpu]: 1 },
        volumes: { '/data': { claim: 'data' }, '/reference': { claim: 'data', read_only: true } },
      },
    },
  });
  await cluster.kubectl(['label', '--overwrite', 'node', node, `${key}=gpus`]);
  await cluster.kubectl(['taint', '--overwrite', 'node', node, `${key}=gpus:NoSchedule`]);
  await devices({ [gpu]: '1' });
});
afterAll(async () => {
  await cluster.kubectl(['taint', 'node', node, `${key}-`]);
  await cluster.kubectl(['label', 'node', node, `${key}-`]);
  await devices({ [gpu]: null });
  await cluster.deleteNamespaces([namespace]);
  await removeVolume();
  await pods.stop();
});

/** As the device plugin of a node says them; null takes one away. */
const devices = (capacity: Readonly<Record<string, string | null>>): Promise<string> =>
  cluster.kubectl([
    ...['patch', 'node', node, '--subresource=status', '--type=merge'],
    ...['-p', JSON.stringify({ status: { capacity, allocatable: capacity } })],
  ]);
const removeVolume = (): Promise<string> =>
  cluster.kubectl(['delete', 'persistentvolume', volume, '--ignore-not-found', '--wait=false']);
const ssh = (...words: string[]) => pods.host.ssh(user, words);

describe('a session with placement in its profile', () => {
  it('is told of a claim that is not there', async () => {
    const { line, code } = await refusedLogin(pods.host, user);
    expect(code).toBe('pod-unschedulable');
    expect(line).toContain('persistentvolumeclaim "data" not found');
  });

  it('has its volumes as the user, on the node with its label, its taint and its GPU', async () => {
    const path = join(pods.host.directory, 'claimed');
    await mkdir(path, { mode: 0o755 });
    const size = { storage: '1Mi' };
    const claim = { accessModes: ['ReadWriteOnce'], storageClassName: '', volumeName: volume };
    await cluster.create(
      {
        ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: volume } },
        spec: {
          ...{ accessModes: claim.accessModes, capacity: size, local: { path } },
          claimRef: { namespace, name: 'data' },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key, operator: 'In', values: ['gpus'] }] },
              ],
            },
          },
        },
      },
      {
        ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
        metadata: { name: 'data', namespace },
        spec: { ...claim, resources: { requests: size } },
      },
    );
    const { uid, gid } = pods.host.account(user);
    const written = await ssh(
      'echo kept > /data/mine && stat -c %u:%g /data/mine; > /reference/no',
    );
    expect(written.stdout.toString(), written.stderr).toBe(`${uid}:${gid}\n`);
    expect(written.stderr).toMatch(/\/reference\/no: Read-only file system/);
    // Another connection, and so another pod.
    expect((await ssh('cat /reference/mine')).stdout.toString()).toBe('kept\n');
  });

  it('is told that all GPUs are in use, and gets one when the other session has ended', async () => {
    const holder = await LiveSession.startReady(pods.host, user, 'cat');
    const { line, code } = await refusedLogin(pods.host, user);
    expect(code).toBe('pod-unschedulable');
    expect(line).toContain(`Insufficient ${gpu}`);
    await holder.kill();
    await expect.poll(async () => (await ssh('echo free')).stdout.toString()).toBe('free\n');
  });
});
