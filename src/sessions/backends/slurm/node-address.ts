import { lookup } from 'node:dns/promises';
import { writeFile } from 'node:fs/promises';
import { BerthError } from '../../../system/errors/berth-error.ts';
import { readUserFileSync } from '../../../system/user-file.ts';
import { allocationFiles } from './argv/allocation-script.ts';
import type { SlurmPrograms } from './argv/slurm-job.ts';
import { askNodeAddress } from './slurm-queue.ts';

/** A host name or an IP address, and no option of ssh(1): NodeName may have underscores. */
const isHost = (text: string): boolean => /^[A-Za-z0-9_:][A-Za-z0-9_.:-]*$/.test(text);

/**
 * The address of a node for this host: its name if that can be resolved, else NodeAddr of slurm.conf, for which
 * slurmctld is asked once a job.
 *
 * @param directory of the allocation
 * @throws {BerthError} `slurm-node-unreachable`, `slurm-unavailable`, and those of `readUserFileSync`
 */
export async function reachableAddress(
  slurm: SlurmPrograms,
  directory: string,
  node: string,
): Promise<string> {
  if (!isHost(node)) throw unreachable(node, 'Slurm gives a name that ssh cannot use');
  if (await isResolved(node)) return node;
  const file = `${directory}/${allocationFiles.address}`;
  const demands = { uid: process.getuid?.() ?? -1, maximumBytes: 300 };
  const known = readUserFileSync(file, demands)?.toString().trim() ?? '';
  if (isHost(known)) return known;
  const address = await askNodeAddress(slurm, node);
  if (address === undefined || address === node || !isHost(address))
    throw unreachable(
      node,
      `this login node cannot resolve its name, and Slurm says NodeAddr=${address ?? ''}`,
    );
  await writeFile(file, address, { mode: 0o600 });
  return address;
}

async function isResolved(name: string): Promise<boolean> {
  try {
    await lookup(name);
    return true;
  } catch {
    return false;
  }
}

function unreachable(node: string, why: string): BerthError {
  return new BerthError(
    'slurm-node-unreachable',
    `the compute node ${JSON.stringify(node)} has no address: ${why}`,
    {
      forUser: true,
    },
  );
}
