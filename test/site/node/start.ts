import { mkdir } from 'node:fs/promises';
import { kubernetesBinaries } from '../kubernetes/build.ts';
import { ensurePackages } from '../packages.ts';
import { assertRunning, isRunning, startDetached, type Start } from '../processes.ts';
import { step } from '../progress.ts';
import type { Site } from '../site.ts';
import { waitFor } from '../wait.ts';
import { apiServerForNode } from './api-server.ts';
import { nodeBinaries, type NodeBinaries } from './binaries.ts';
import { containerdAnswers, containerdStart } from './containerd.ts';
import { NodeImages } from './images.ts';
import { kubeletStart } from './kubelet.ts';
import { startNamespaces } from './namespaces.ts';
import { nodeFolder, readNode, writeNode, type NodeRecord } from './record.ts';
import { stopNode } from './stop.ts';

export const nodeName = 'node1';

const packages = ['socat', 'containernetworking-plugins', 'iproute2', 'iptables', 'procps'];

/** The running node, Ready; started when there is none, or when a part of it has ended. */
export async function startNode(site: Site): Promise<NodeRecord> {
  const running = await readNode();
  if (running !== undefined && (await complete(running))) {
    await ready(site, running);
    return running;
  }
  await stopNode();
  await ensurePackages(packages);
  const [binaries, { kubernetes }] = [await nodeBinaries(), await kubernetesBinaries()];
  return step('the node', () => start(site, binaries, kubernetes));
}

async function complete({ unshare, parts }: NodeRecord): Promise<boolean> {
  const processes = [unshare, ...parts.map(({ started }) => started)];
  return (await Promise.all(processes.map(isRunning))).every(Boolean);
}

async function start(site: Site, binaries: NodeBinaries, kubernetes: string): Promise<NodeRecord> {
  await mkdir(nodeFolder, { recursive: true, mode: 0o700 });
  let record: NodeRecord = { ...(await startNamespaces(nodeFolder, nodeName)), parts: [] };
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
  const alive = await begin(await containerdStart(nodeFolder, init, binaries));
  await containerdAnswers(init, binaries, alive);
  await new NodeImages(nodeFolder, init, binaries).ensurePause();
  await begin(
    await kubeletStart({
      ...{ folder: nodeFolder, init, binary: kubernetes, ca: site.certificates },
      ...{ name: nodeName, address, server: api.url },
    }),
  );
  await ready(site, record);
  return record;
}

/** Waits for the node's condition Ready, as this kubelet reports it. */
async function ready(site: Site, { parts }: NodeRecord): Promise<void> {
  const alive = async (): Promise<void> => {
    for (const { started } of parts) await assertRunning(started);
  };
  await waitFor({ what: `${nodeName} to be Ready`, timeoutMs: 60_000, alive }, async () => {
    const condition = '{.status.conditions[?(@.type=="Ready")].status}';
    const { stdout, stderr } = await site.kubectl([
      ...['get', 'node', nodeName, `--output=jsonpath=${condition}`],
    ]);
    if (stdout !== 'True') throw new Error(`${stdout} ${stderr}`);
    return true;
  });
}
