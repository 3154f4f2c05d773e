import { lstatSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { Profile } from '../../../config/schema/profile/profile.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';
import type { SessionHost } from '../../request/session-host.ts';
import { sessionId } from '../../../system/program/session-id.ts';
import { runProgram } from '../../../system/run-program.ts';
import { randomDigits } from '../../../system/temporary-name.ts';
import { allocationFiles, allocationScript, allocationsDir } from './argv/allocation-script.ts';
import type { JobRecord, SlurmPrograms } from './argv/slurm-job.ts';
import { allocationKeys, configOf, recordIn, writeRecord } from './allocation-records.ts';
import { hostKeyAlias } from './argv/ssh-to-job.ts';
import { cancel, openJobs, submit } from './slurm-queue.ts';

/**
 * Submits the job of an allocation, with keys that only the user can read.
 *
 * @param login path of the login program on the compute nodes
 * @throws {BerthError} `slurm-refused`, `allocation-keys-failed`
 */
export async function submitAllocation(
  { slurm, host, profile, login }: AllocationInput,
  name: string,
): Promise<JobRecord> {
  const all = allocationsDir(host.user.home);
  const key = randomDigits(16);
  const directory = `${all}/${key}`;
  let id: string | undefined;
  try {
    await makeKeys(directory);
    const session = host.connection && sessionId(host.connection);
    const script = allocationScript(profile, host, { name, key, login, session });
    id = await submit(slurm, script);
    const record = { id, submitted: Math.floor(Date.now() / 1000), name, key };
    await writeRecord(slurm, record);
    return record;
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    // Without its keys it ends by itself when it starts.
    if (id !== undefined) await cancel(slurm, id).catch(() => undefined);
    throw error;
  }
}

/** Cancels a job, with its keys: one that has not started does not remove them. @throws {BerthError} `slurm-unavailable` */
export async function giveUp(slurm: SlurmPrograms, id: string, directory: string): Promise<void> {
  await cancel(slurm, id);
  await rm(directory, { recursive: true, force: true });
}

export interface AllocationInput {
  readonly slurm: SlurmPrograms;
  readonly host: SessionHost;
  readonly profile: Profile;
  readonly login: string;
}

/** A directory may be of a job that is being submitted. Milliseconds. */
const leftoverMs = 3600_000;

/** Removes the keys that killed jobs of a cluster have left. @throws {BerthError} `slurm-unavailable` */
export async function removeLeftovers(slurm: SlurmPrograms): Promise<void> {
  const { home } = slurm;
  const isOld = (key: string): boolean => {
    const status = lstatSync(`${allocationsDir(home)}/${key}`, { throwIfNoEntry: false });
    return Date.now() - (status?.mtimeMs ?? Infinity) > leftoverMs;
  };
  const old = (await allocationKeys(home)).filter(isOld);
  const recorded = old.flatMap((key) => recordIn(home, key) ?? []);
  const ofCluster = recorded.filter(({ config }) => config === configOf(slurm));
  const open = await openJobs(slurm, ofCluster);
  const kept = [...open, ...recorded.filter(({ config }) => config !== configOf(slurm))];
  for (const key of old)
    if (kept.every((job) => job.key !== key))
      await rm(`${allocationsDir(home)}/${key}`, { recursive: true, force: true });
}

async function makeKeys(directory: string): Promise<void> {
  try {
    const { clientKey, hostKey, hostPublicKey, knownHosts, logins } = allocationFiles;
    await mkdir(`${directory}/${logins}`, { recursive: true, mode: 0o700 });
    await Promise.all([clientKey, hostKey].map((file) => makeKey(`${directory}/${file}`)));
    const [type = '', text = ''] = (
      await readFile(`${directory}/${hostPublicKey}`, 'latin1')
    ).split(' ');
    const known = `${hostKeyAlias} ${type} ${text.trim()}\n`;
    await writeFile(`${directory}/${knownHosts}`, known, { mode: 0o600 });
  } catch (thrown) {
    throw new BerthError(
      'allocation-keys-failed',
      `could not create the SSH keys for your Slurm job in ${directory}: ${(thrown as Error).message}`,
      { forUser: true, cause: thrown },
    );
  }
}

async function makeKey(path: string): Promise<void> {
  const args = ['-q', '-t', 'ed25519', '-N', '', '-C', 'berth', '-f', path];
  const { error, stderr } = await runProgram('/usr/bin/ssh-keygen', args, { input: '' });
  if (error !== undefined) throw new Error(`ssh-keygen: ${stderr.trim() || error.message}`);
}
