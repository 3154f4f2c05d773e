import type { Profile, ProfileMount, ProfileSlurm } from '../config/schema/profile/profile.ts';

/** Directory of slurm.conf inside a session; SLURM_CONF points to it. */
export const slurmDirInside = '/etc/slurm';

/** libmunge's default socket directory. */
const mungeInside = '/run/munge';

const hostTmp = '/tmp';
const hostTmpInside = '/run/berth/tmp';

/**
 * All mounts of a profile: `mounts`, then those that `agent` and `slurm` need.
 *
 * sshd creates the agent's socket in a new directory of /tmp for each connection (session.c; in the home
 * from OpenSSH 10.1 on), and nothing can be mounted into a running container. So with `agent` the host's
 * /tmp is mounted read-only: clients can still connect to a socket there, and directories of other users have
 * the same permissions as on the host.
 */
export function profileMounts({ mounts, agent, slurm }: Profile): ProfileMount[] {
  return [
    ...mounts,
    ...(agent ? [readOnly(hostTmp, hostTmpInside)] : []),
    ...(slurm === undefined ? [] : slurmMounts(slurm, mounts)),
  ];
}

/** If `munge` is not the default, slurm.conf names that path (AuthInfo), so it is mounted there as well. */
function slurmMounts(
  { config, munge }: ProfileSlurm,
  mounts: readonly ProfileMount[],
): ProfileMount[] {
  const known =
    munge === mungeInside || mounts.some(({ source, target = source }) => target === munge);
  return [
    readOnly(config, slurmDirInside),
    readOnly(munge, mungeInside),
    ...(known ? [] : [readOnly(munge, munge)]),
  ];
}

/** Path of the agent's socket inside a session. */
export function agentInside(socket: string): string {
  return socket.startsWith(`${hostTmp}/`) ? hostTmpInside + socket.slice(hostTmp.length) : socket;
}

function readOnly(source: string, target: string): ProfileMount {
  return { source, target, readOnly: true, missing: 'fail' };
}
