import { mkdir } from 'node:fs/promises';
import { kubernetesBinaries } from '../kubernetes/build.ts';
import { waitForRegistry } from '../docker-registry.ts';
import { ensurePackages } from '../debian-packages.ts';
import { assertRunning, isRunning, startDetached, type ProcessStart } from '../processes.ts';
import { step } from '../progress.ts';
import type { Site } from '../site.ts';
import { waitFor } from '../../wait-for.ts';
import { apiServerProxy } from './api-server-proxy.ts';
import { nodeBinaries, type NodeBinaries } from './binaries.ts';
import { prepareContainerd } from './containerd.ts';
import { ContainerdImages } from './containerd-images.ts';
import { prepareKubelet } from './kubelet.ts';
import { startNamespaces } from './namespaces.ts';
import { connectPods } from './pod-network.ts';
import { nodeDirectory, readNode, writeNode, type NodeRecord } from './node-record.ts';
import { prepareNodeRegistry, registryAt } from './registry.ts';
import { stopNode } from './stop.ts';

export const nodeName = 'node1';

/** Increase it when a node that an older harness started must not be reused. */
const version = '4';

const packages = ['socat', 'containernetworking-plugins', 'iproute2', 'iptables', 'procps', 'curl'];

/** Returns the node when it is Ready; starts it if it or one of its processes is not running. */
export async function startNode(site: Site): Promise<NodeRecord> {
  const running = await readNode();
  if (running?.version === version && (await isWhole(running))) {
    await waitForReadyNode(site);
    return running;
  }
  await stopNode();
  await ensurePackages(packages);
  const [binaries, { kubernetes }] = [
    await nodeBinaries(),
    await kubernetesBinaries(site.record.kubernetesMinor),
  ];
  return step('starting the node', () => start(site, binaries, kubernetes));
}

async function isWhole({ complete, unshare, parts }: NodeRecord): Promise<boolean> {
  if (!complete) return false;
  const processes = [unshare, ...parts.map(({ started }) => started)];
  return (await Promise.all(processes.map(isRunning))).every(Boolean);
}

async function start(site: Site, binaries: NodeBinaries, kubernetes: string): Promise<NodeRecord> {
  await mkdir(nodeDirectory, { recursive: true, mode: 0o700 });
  let record: NodeRecord = {
    ...{ version, complete: false, parts: [] },
    ...(await startNamespaces(nodeDirectory, nodeName)),
  };
  await writeNode(record);
  const begin = async (start: ProcessStart): Promise<() => Promise<void>> => {
    const started = await startDetached(start);
    record = { ...record, parts: [...record.parts, { start, started }] };
    await writeNode(record);
    return () => assertRunning(started);
  };

  const { init, address, gateway } = record;
  const api = apiServerProxy(nodeDirectory, site.server, gateway);
  await begin(api.start);
  await connectPods(init, api.url);
  const alive = await begin(await prepareContainerd(nodeDirectory, init, binaries));
  const images = new ContainerdImages(nodeDirectory, init, binaries);
  await images.waitForContainerd(alive);
  await images.ensurePause();
  await begin(await prepareNodeRegistry(nodeDirectory, gateway, site.certificates));
  await waitForRegistry(registryAt(gateway).address, site.ca.file);
  const since = Math.floor(Date.now() / 1000) * 1000;
  await begin(
    await prepareKubelet({
      ...{ directory: nodeDirectory, init, binary: kubernetes, ca: site.certificates },
      ...{ name: nodeName, address, server: api.url },
    }),
  );
  await waitForReadyNode(site, since);
  record = { ...record, complete: true };
  await writeNode(record);
  return record;
}

/**
 * Waits until the node's condition Ready is True.
 *
 * @param since epoch milliseconds; a condition with an earlier heartbeat is ignored
 */
export async function waitForReadyNode(site: Site, since = 0): Promise<void> {
  const alive = async (): Promise<void> => {
    const parts = (await readNode())?.parts ?? [];
    for (const { started } of parts) await assertRunning(started);
  };
  await waitFor({ what: `${nodeName} to be Ready`, timeoutMs: 60_000, alive }, async () => {
    const condition = '{.status.conditions[?(@.type=="Ready")]}';
    const { stdout, stderr } = await site.kubectl([
      ...['get', 'node', nodeName, `--output=jsonpath=${condition}`],
    ]);
    if (stdout === '') throw new Error(stderr);
    const { status, lastHeartbeatTime, message } = JSON.parse(stdout) as Condition;
    if (status !== 'True') throw new Error(message);
    return Date.parse(lastHeartbeatTime) >= since || undefined;
  });
}

/** A condition of a NodeStatus. */
interface Condition {
  readonly status: string;
  readonly lastHeartbeatTime: string;
  readonly message: string;
}
