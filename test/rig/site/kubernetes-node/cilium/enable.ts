import { execa } from 'execa';
import { assertRunning } from '../../processes.ts';
import { step } from '../../progress.ts';
import type { Site } from '../../site.ts';
import { apiServerProxy } from '../api-server-proxy.ts';
import { addPart, removePart, startPart, stopPart } from '../node-processes.ts';
import { nodeDirectory, readNode } from '../node-record.ts';
import { ciliumBinaries } from './build.ts';
import {
  ciliumPodCidr,
  waitForAgent,
  prepareAgent,
  useBridgeCni,
  useCiliumCni,
  prepareCluster,
} from './start.ts';

/** Starts Cilium's agent on the node unless it is running, and configures containerd to connect new pods with it. */
export async function startCilium(site: Site, node: string): Promise<void> {
  const binaries = await ciliumBinaries();
  const record = await readNode();
  if (record === undefined) throw new Error('no node is running');
  if (record.parts.some(({ start }) => start.name === 'cilium-agent')) return;
  await step("starting Cilium's agent", async () => {
    await prepareCluster(site, node, binaries.sources);
    const { init, gateway } = record;
    const server = apiServerProxy(nodeDirectory, site.server, gateway).url;
    const started = await addPart(
      await prepareAgent({
        ...{ directory: nodeDirectory, init, binaries, ca: site.certificates, node, server },
      }),
    );
    await waitForAgent(init, () => assertRunning(started));
    await useCiliumCni(nodeDirectory, binaries);
    await restartContainerd();
    // Their packets leave the node with their own addresses.
    await execa('ip', ['route', 'replace', ciliumPodCidr, 'via', record.address]);
  });
}

/** Stops the agent. Pods that it connected still have their policies, and should be deleted before. */
export async function stopCilium(): Promise<void> {
  await execa('ip', ['route', 'delete', ciliumPodCidr]);
  await useBridgeCni(nodeDirectory);
  await restartContainerd();
  await removePart('cilium-agent');
}

/** containerd reads CNI's configuration when it starts. */
async function restartContainerd(): Promise<void> {
  await stopPart('containerd');
  await startPart('containerd');
}
