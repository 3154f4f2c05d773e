import type { SlurmAccountsSettings } from './rules/slurm-accounts-settings.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { type ProgramResult, runProgram } from '../../system/run-program.ts';
import type { LiveAccounts } from './rules/live-accounts.ts';
import { listAssociations, listDefaults, parseLists } from './rules/sacctmgr-argv.ts';

/** How long one command may take. With 200 new users, it is a second. Milliseconds. */
const commandMs = 5 * 60_000;

/** Longest list of associations, in bytes. */
const longestOutput = 256 * 1024 * 1024;

export type SlurmAt = Pick<SlurmAccountsSettings, 'cluster' | 'slurmConf'>;

/**
 * What slurmdbd has of the cluster.
 *
 * @throws {BerthError} `slurm-accounts-unreadable`, `slurm-cluster-unknown`
 */
export async function readAccounts(slurm: SlurmAt, signal: AbortSignal): Promise<LiveAccounts> {
  const read = async (args: readonly string[]): Promise<string> => {
    const result = await sacctmgr(slurm, args, signal);
    if (result.error === undefined) return result.stdout;
    throw new BerthError(
      'slurm-accounts-unreadable',
      `reading the accounts of cluster ${slurm.cluster}: ${wordsOf(result)}`,
      {
        cause: result.error,
      },
    );
  };
  const lists = parseLists(
    await read(listAssociations(slurm.cluster)),
    await read(listDefaults(slurm.cluster)),
  );
  if (typeof lists === 'string')
    throw new BerthError(
      'slurm-accounts-unreadable',
      `reading the accounts of cluster ${slurm.cluster}: sacctmgr printed ${JSON.stringify(lists.slice(0, 200))}`,
    );
  // Each cluster has the association of the account root.
  if (lists.associations.length === 0)
    throw new BerthError('slurm-cluster-unknown', `slurmdbd has no cluster ${slurm.cluster}`);
  return lists;
}

/**
 * Runs one command, which slurmdbd does as a whole or not at all.
 *
 * @returns Why slurmdbd refused it.
 * @throws {BerthError} `slurm-accounts-failed` if slurmdbd does not answer
 */
export async function changeAccounts(
  slurm: SlurmAt,
  args: readonly string[],
  signal: AbortSignal,
): Promise<BerthError | undefined> {
  const result = await sacctmgr(slurm, ['-i', ...args], signal);
  if (result.error === undefined && !result.stderr.includes(refusedWithZero)) return undefined;
  const command = `sacctmgr ${args.join(' ')}`;
  const shown = command.length > 200 ? `${command.slice(0, 200)}…` : command;
  const failure = new BerthError('slurm-accounts-failed', `${shown}: ${wordsOf(result)}`, {
    cause: result.error,
  });
  const { error: silent } = await sacctmgr(slurm, ['-n', 'list', 'cluster'], signal);
  if (silent !== undefined) throw failure;
  return failure;
}

/** A QOS that somebody below does not have: sacctmgr changes nothing, and its exit status is 0 (22.05). */
const refusedWithZero = "don't have access to their default qos";

function sacctmgr(
  { slurmConf }: SlurmAt,
  args: readonly string[],
  signal: AbortSignal,
): Promise<ProgramResult> {
  return runProgram('/usr/bin/sacctmgr', args, {
    signal,
    timeoutMs: commandMs,
    maxBuffer: longestOutput,
    input: '',
    env: {
      PATH: '/usr/bin:/bin',
      LC_ALL: 'C',
      ...(slurmConf !== undefined && { SLURM_CONF: slurmConf }),
    },
  });
}

/** What it said, on one line. */
function wordsOf({ error, stdout, stderr }: ProgramResult): string {
  if (error?.name === 'AbortError') return 'not done within the time limit';
  if (error?.killed === true) return `no answer of slurmdbd within ${commandMs / 1000} s`;
  const said = (stderr.trim() === '' ? stdout : stderr)
    .replaceAll(/^\s*(?:sacctmgr: )?(?:error: )?/gm, '')
    .trim();
  if (said === '') return error?.message ?? '';
  return escapeControl(said.split('\n').join('; ').slice(0, 500));
}
