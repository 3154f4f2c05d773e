import { createHmac, randomBytes } from 'node:crypto';
import { readUserFileSync } from '../../../system/user-file.ts';
import { allocationFiles } from './argv/allocation-script.ts';
import type { JobAddress } from './argv/ssh-to-job.ts';

/**
 * What a login says to the gate of a job (argv/gate.py) before it speaks SSH: the time, a random number, and their MAC
 * with the allocation's key. It counts once, for some minutes, and at this port only: a stranger that listens at
 * another one learns nothing that opens the gate.
 *
 * @throws {BerthError} the errors of `readUserFileSync`
 */
export function gateWord({ port, directory }: Pick<JobAddress, 'port' | 'directory'>): string {
  const key = readUserFileSync(`${directory}/${allocationFiles.clientKey}`, {
    uid: process.getuid?.() ?? -1,
    maximumBytes: 4096,
    secret: true,
  });
  const time = Math.floor(Date.now() / 1000)
    .toString(16)
    .padStart(8, '0');
  const said = time + randomBytes(16).toString('hex');
  // Without a key, as when the job has just ended, the gate is silent.
  const mac = createHmac('sha256', key ?? randomBytes(32)).update(`${port} ${said}`);
  return said + mac.digest('hex');
}
