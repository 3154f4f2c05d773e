import { join } from 'node:path';
import type { SlurmAccountsSettings } from './rules/slurm-accounts-settings.ts';
import {
  type DirectoryInput,
  type DirectoryPeople,
  readPeople,
} from '../../directory/read-people.ts';
import { assertEnoughEntries } from '../../directory/rules/refuse-shrunken-directory.ts';
import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import { writeAtomically } from '../../system/atomic-file.ts';
import { takeLock } from '../../system/file-lock.ts';
import { readPrivateFile } from '../../system/private-file.ts';
import { changeAccounts, readAccounts } from './run-sacctmgr.ts';
import {
  type AssociationPlan,
  closedMeanwhile,
  planAssociations,
  type SyncMemory,
} from './rules/association-plan.ts';
import { desiredAccounts, type SkippedName } from './rules/desired-accounts.ts';
import { halves, stepArguments } from './rules/sacctmgr-argv.ts';

export interface SlurmSyncInput extends DirectoryInput {
  readonly accounts: SlurmAccountsSettings;
  /** Berth's state directory. */
  readonly stateDir: string;
  /** The admin confirms that this many have left. */
  readonly acceptFewer: boolean;
  /** The admin confirms that accounts which were made by hand become Berth's. */
  readonly adopt: boolean;
  /** Whether to do what is planned. It is asked before the first change, and only if there is one. */
  readonly approve: (planned: PlannedSync) => Promise<boolean>;
}

/** What would be done. */
export interface PlannedSync extends DirectoryPeople {
  readonly cluster: string;
  readonly plan: AssociationPlan;
  readonly skipped: readonly SkippedName[];
  /** The arguments of each command of sacctmgr(1), in order. */
  readonly commands: readonly (readonly string[])[];
}

export interface SlurmSyncReport extends PlannedSync {
  /** How many of the commands were run. */
  readonly done: number;
  /** What slurmdbd refused, each for one name. */
  readonly failed: readonly BerthError[];
  /** What ended the run early. What was done until then stays, and the next run goes on. */
  readonly error?: BerthError;
}

/** Bytes. */
const largestMemory = 64 * 1024 * 1024;

/** After so many refusals a run ends: then it is not single names. */
const mostRefusals = 20;

/** Longest age of another host's lock in a shared state directory: that of the longest run. Milliseconds. */
const longestRunMs = 24 * 60 * 60_000;

/**
 * Brings the accounts of a Slurm cluster to the state of the directory. Everything is read and checked before the first
 * change. Of several runs on this host, each waits for the one before it.
 *
 * @throws {BerthError} `ldap-…`, `lock-timeout`, `slurm-accounts-unreadable`, `slurm-cluster-unknown`,
 *   `slurm-parent-unknown`
 */
export async function syncAccounts(input: SlurmSyncInput): Promise<SlurmSyncReport> {
  const { accounts, stateDir, deadline } = input;
  const path = memoryPath(stateDir, accounts.cluster);
  const timeoutMs = deadline.remaining();
  const lock = await takeLock(`${path}.lock`, { timeoutMs, foreignStaleMs: longestRunMs });
  try {
    const memory = readMemory(path);
    const planned = await planSync(input, memory);
    if (planned.commands.length > 0 && !(await input.approve(planned)))
      return { ...planned, done: 0, failed: [] };
    return await apply(planned, input, memory);
  } finally {
    await lock?.release();
  }
}

/** Plans without the lock, and changes nothing. @throws as `syncAccounts` */
export async function planAccountSync(
  input: Omit<SlurmSyncInput, 'approve'>,
): Promise<SlurmSyncReport> {
  const memory = readMemory(memoryPath(input.stateDir, input.accounts.cluster));
  return { ...(await planSync(input, memory)), done: 0, failed: [] };
}

async function planSync(
  input: Omit<SlurmSyncInput, 'approve'>,
  memory: SyncMemory | undefined,
): Promise<PlannedSync> {
  const { accounts, ldap, deadline, onProgress } = input;
  const { cluster, keepUsers } = accounts;
  const { url, people } = await readPeople(input);
  onProgress?.(`reading the accounts of ${cluster}`);
  const live = await readAccounts(accounts, deadline.signal);
  const present = new Set(live.associations.map(({ account }) => account));
  const ours = input.adopt ? present : new Set(memory?.accounts);
  const desired = desiredAccounts(people, accounts, { present, ours });
  const plan = planAssociations({ people, desired, live, memory, keepUsers });
  const last = { users: String(memory?.users ?? 0), groups: String(memory?.groups ?? 0) };
  if (!input.acceptFewer) assertEnoughEntries(people, last, plan.losses, ldap.keepPercent);
  const commands = plan.steps.flatMap((step) => stepArguments(step, cluster));
  const unread = live.unread.map((name): SkippedName => {
    return { what: 'line', name, reason: 'it is not an association that sacctmgr can change' };
  });
  return { url, people, cluster, plan, skipped: [...desired.skipped, ...unread], commands };
}

async function apply(
  planned: PlannedSync,
  { accounts, stateDir, deadline, onProgress }: SlurmSyncInput,
  memory: SyncMemory | undefined,
): Promise<SlurmSyncReport> {
  const { cluster, plan, commands } = planned;
  const path = memoryPath(stateDir, cluster);
  let done = 0;
  const failed: BerthError[] = [];
  // Who cannot be changed stays as it is, and the others of the same command are changed.
  const change = async (args: readonly string[]): Promise<void> => {
    const refusal = await changeAccounts(accounts, args, deadline.signal);
    if (refusal === undefined) return;
    const parts = halves(args);
    if (parts === undefined) failed.push(refusal);
    if (failed.length > mostRefusals) throw refusal;
    for (const part of parts ?? []) await change(part);
  };
  try {
    // Before the first of them is closed: whoever is closed without being written down here would not be opened again.
    // What is opened stays in it until the run has ended.
    const closed = closedMeanwhile(memory?.closed ?? [], plan.memory.closed);
    if (commands.length > 0)
      await writeMemory(path, {
        ...plan.memory,
        users: memory?.users ?? 0,
        groups: memory?.groups ?? 0,
        closed,
      });
    for (const args of commands) {
      const before = failed.length;
      await change(args);
      if (failed.length === before) done += 1;
      onProgress?.(`${cluster}: ${done} of ${commands.length} commands`);
    }
    // What was to be opened and is not stays known as closed by Berth.
    const left = failed.length === 0 ? plan.memory : { ...plan.memory, closed };
    if (JSON.stringify(memory) !== JSON.stringify(left)) await writeMemory(path, left);
    return { ...planned, done, failed };
  } catch (thrown) {
    const error = asBerthError(thrown, `changing the accounts of ${cluster}`);
    return { ...planned, done, failed, error };
  }
}

/** Where the runs for one cluster keep what they know, without an ending. */
function memoryPath(stateDir: string, cluster: string): string {
  return join(stateDir, 'slurm-sync', cluster);
}

/**
 * What the last run has left; undefined before the first.
 *
 * @throws {BerthError} `slurm-accounts-unreadable`; `private-file-…`
 */
function readMemory(path: string): SyncMemory | undefined {
  const file = `${path}.json`;
  const text = readPrivateFile(file, 0, largestMemory);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as SyncMemory;
  } catch (cause) {
    throw new BerthError('slurm-accounts-unreadable', `${file} is not JSON`, {
      hint: `Nothing was changed. Restore ${file} from a backup, or remove it: then users whom Berth disabled in an account stay disabled until you re-enable them with sacctmgr, and accounts of a * count as made by hand (--adopt).`,
      cause,
    });
  }
}

/** The directory is that of the lock, so it is there. @throws {BerthError} as `writeAtomically` */
async function writeMemory(path: string, memory: SyncMemory): Promise<void> {
  await writeAtomically(`${path}.json`, `${JSON.stringify(memory)}\n`, { mode: 0o600 });
}
