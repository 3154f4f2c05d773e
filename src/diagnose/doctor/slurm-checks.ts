import { accessSync, constants } from 'node:fs';
import {
  allocationScript,
  loginOnNodes,
} from '../../sessions/backends/slurm/argv/allocation-script.ts';
import { refusalText } from '../../sessions/backends/slurm/argv/refusals.ts';
import { jobName, testCall } from '../../sessions/backends/slurm/argv/slurm-job.ts';
import { isNoAnswer, wordsOfSlurm } from '../../sessions/backends/slurm/slurm-queue.ts';
import { type CheckResult, failed, type Finding, ok } from '../../system/errors/check-result.ts';
import { runCheck } from '../../system/run-check.ts';
import {
  type Profile,
  sessionBackends,
  type SshSettings,
} from '../../config/schema/profile/profile.ts';
import type { User } from '../../system/identity/nss.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { runBounded } from '../../system/run-bounded.ts';

const programs = [
  'sbatch',
  'squeue',
  'scancel',
  'scontrol',
  'ssh',
  'ssh-keygen',
  'setpriv',
  'python3',
];

/**
 * Whether this host has what sessions in jobs need, and Slurm would accept the job of each profile.
 *
 * @param user whose job is tried; without one, none is
 */
export async function checkSlurm(
  settings: SshSettings,
  timeoutMs: number,
  user?: User,
): Promise<CheckResult[]> {
  const profiles = [...settings.profiles.values()].filter((profile) =>
    sessionBackends(profile, settings.rules).has('slurm'),
  );
  if (profiles.length === 0) return [];
  const host = await runCheck('ssh-slurm', programsFinding, timeoutMs);
  if (user === undefined || host.status === 'failed') return [host];
  const jobs = await Promise.all(
    profiles.map((profile) => {
      const run = () => jobFinding(settings, profile, user, 0.9 * timeoutMs);
      return runCheck('ssh-slurm-job', run, timeoutMs);
    }),
  );
  return [host, ...jobs];
}

function programsFinding(): Finding {
  const missing = programs.map((name) => `/usr/bin/${name}`).filter((file) => !isProgram(file));
  return missing.length === 0
    ? ok('the programs for sessions in jobs of Slurm are installed')
    : failed(
        `sessions in jobs of Slurm need ${missing.join(', ')}`,
        'Install the packages of Slurm, of OpenSSH’s client, util-linux and Python, or make a link to where they are.',
      );
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Asks Slurm with `sbatch --test-only`, as the user. */
async function jobFinding(
  settings: SshSettings,
  profile: Profile,
  { name, uid, gid, home }: User,
  timeoutMs: number,
): Promise<Finding> {
  const job = { name: jobName(profile, undefined), key: '0'.repeat(16) };
  const login = loginOnNodes(installedPath('files'));
  const input = allocationScript(profile, settings, { ...job, login });
  const { file, args, env } = testCall({ slurm: profile.slurm, home });
  const { ended, stderr } = await runBounded(file, args.slice(1), {
    env: { ...env },
    input,
    timeoutMs,
    user: { uid, gid },
  });
  const said = wordsOfSlurm(stderr);
  if (ended === 'late' || isNoAnswer(said))
    return failed(
      `profile ${profile.name}: Slurm does not answer about the job of ${name}${said && `: ${said}`}`,
      'Run `scontrol ping` on this host: slurmctld or munge is down, or cannot be reached.',
    );
  return ended === 0
    ? ok(`profile ${profile.name}: Slurm accepts the job of ${name} (${said})`)
    : failed(
        `profile ${profile.name}: Slurm does not accept the job of ${name}: ${said === '' ? `sbatch ended with ${ended}` : refusalText(said)}`,
        'Correct `batch` and `limits` of the profile, or the account of the user; `berth plan --ssh --user NAME` prints the job script.',
      );
}
