import { mkdir } from 'node:fs/promises';
import { kubernetesBinaries } from '../kubernetes/build.ts';
import { registryAnswers } from '../docker-registry.ts';
import { ensurePackages } from '../packages.ts';
import { assertRunning, isRunning, startDetached, type Start } from '../processes.ts';
import { step } from '../progress.ts';
import type { Site } from '../site.ts';
import { waitFor } from '../wait.ts';
import { apiServerForNode } from './api-server-proxy.ts';
import { nodeBinaries, type NodeBinaries } from './binaries.ts';
import { containerdStart } from './containerd.ts';
import { NodeImages } from './containerd-images.ts';
import { kubeletStart } from './kubelet.ts';
import { startNamespaces } from './namespaces.ts';
import { connectPods } from './pod-network.ts';
import { nodeFolder, readNode, writeNode, type NodeRecord } from './record.ts';
import { nodeRegistryStart, registryAt } from './registry.ts';
import { stopNode } from './stop.ts';

export const nodeName = 'node1';

/** Raised when a running node of an older harness must not be reused. */
const version = '4';

const packages = ['socat', 'containernetworking-plugins', 'iproute2', 'iptables', 'procps', 'curl'];

/** The running node, Ready; started when there is none, or when a part of it has ended. */
export async function startNode(site: Site): Promise<NodeRecord> {
  const running = await readNode();
  if (running?.version === version && (await isWhole(running))) {
    await ready(site);
    return running;
  }
  await stopNode();
  await ensurePackages(packages);
  const [binaries, { kubernetes }] = [
    await nodeBinaries(),
    await kubernetesBinaries(site.record.kubernetesMinor),
  ];
  return step('the node', () => start(site, binaries, kubernetes));
}

async function isWhole({ complete, unshare, parts }: NodeRecord): Promise<boolean> {
  if (!complete) return false;
  const processes = [unshare, ...parts.map(({ started }) => started)];
  return (await Promise.all(processes.map(isRunning))).every(Boolean);
}

async function start(site: Site, binaries: NodeBinaries, kubernetes: string): Promise<NodeRecord> {
  await mkdir(nodeFolder, { recursive: true, mode: 0o700 });
  let record: NodeRecord = {
    ...{ version, complete: false, parts: [] },
    ...(await startNamespaces(nodeFolder, nodeName)),
  };
  await writeNode(record);
  const begin = async (start: Start): Promise<() => Promise<void>> => {
    const started = await startDetached(start);
    record = { ...record, parts: [...record.parts, { start, started }] };
    await writeNode(record);
    return () => assertRunning(started);
  };

  const { init, address, gateway } = record;
  const api = apiServerForNode(nodeFolder, site.server, gateway);
  await begin(api.start);
  await connectPods(init, api.url);
  const alive = await begin(await containerdStart(nodeFolder, init, binaries));
  const images = new NodeImages(nodeFolder, init, binaries);
  await images.answers(alive);
  await images.ensurePause();
  await begin(await nodeRegistryStart(nodeFolder, gateway, site.certificates));
  await registryAnswers(registryAt(gateway).address, site.ca.file);
  const since = Math.floor(Date.now() / 1000) * 1000;
  await begin(
    await kubeletStart({
      ...{ folder: nodeFolder, init, binary: kubernetes, ca: site.certificates },
      ...{ name: nodeName, address, server: api.url },
    }),
  );
  await ready(site, since);
  record = { ...record, complete: true };
  await writeNode(record);
  return record;
}

/**
 * Waits for the node's condition Ready.
 *
 * @param since epoch milliseconds: what an earlier kubelet said before that does not count
 */
export async function ready(site: Site, since = 0): Promise<void> {
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

/** Of a NodeStatus. */
interface Condition {
  readonly status: string;
  readonly lastHeartbeatTime: string;
  readonly message: string;
}
