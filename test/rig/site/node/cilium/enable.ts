import { assertRunning } from '../../processes.ts';
import { step } from '../../progress.ts';
import type { Site } from '../../site.ts';
import { apiServerForNode } from '../api-server-proxy.ts';
import { addPart, removePart, startPart, stopPart } from '../parts.ts';
import { nodeFolder, readNode } from '../record.ts';
import { ciliumBinaries } from './build.ts';
import {
  agentAnswers,
  agentStart,
  connectByBridge,
  connectByCilium,
  prepareCluster,
} from './start.ts';

/** Starts Cilium's agent on the node, once, and has containerd connect new pods by it. */
export async function startCilium(site: Site, node: string): Promise<void> {
  const binaries = await ciliumBinaries();
  const record = await readNode();
  if (record === undefined) throw new Error('no node was started');
  if (record.parts.some(({ start }) => start.name === 'cilium-agent')) return;
  await step("Cilium's agent", async () => {
    await prepareCluster(site, node, binaries.sources);
    const { init, gateway } = record;
    const server = apiServerForNode(nodeFolder, site.server, gateway).url;
    const started = await addPart(
      await agentStart({
        ...{ folder: nodeFolder, init, binaries, ca: site.certificates, node, server },
      }),
    );
    await agentAnswers(init, () => assertRunning(started));
    await connectByCilium(nodeFolder, binaries);
    await restartContainerd();
  });
}

/** Ends the agent; pods that it connected keep their policies and should not be kept. */
export async function stopCilium(): Promise<void> {
  await connectByBridge(nodeFolder);
  await restartContainerd();
  await removePart('cilium-agent');
}

/** It reads CNI's configuration at its start, and then we know that it has. */
async function restartContainerd(): Promise<void> {
  await stopPart('containerd');
  await startPart('containerd');
}
