import type { Profile, ProfileMount, ProfileSlurm } from '../../config/profile/profile.ts';

/** Where Slurm's commands look when SLURM_CONF says so. */
export const slurmInside = '/etc/slurm';

/** libmunge's own default. */
const mungeInside = '/run/munge';

const hostTmp = '/tmp';
const hostTmpInside = '/run/berth/tmp';

/**
 * What is mounted for a profile: its own mounts, then what its switches need.
 *
 * sshd makes the agent's socket in a new folder of /tmp for each connection (session.c; in the home
 * from OpenSSH 10.1 on), and nothing can be mounted into a container that runs. So with `agent` the
 * host's /tmp is there, read-only: a socket can be connected to all the same, and folders of others are
 * as closed as on the host.
 */
export function profileMounts({ mounts, agent, slurm }: Profile): ProfileMount[] {
  return [
    ...mounts,
    ...(agent ? [readOnly(hostTmp, hostTmpInside)] : []),
    ...(slurm === undefined ? [] : slurmMounts(slurm, mounts)),
  ];
}

/** A socket elsewhere on the host has its path in slurm.conf (AuthInfo), which counts inside as well. */
function slurmMounts(
  { config, munge }: ProfileSlurm,
  mounts: readonly ProfileMount[],
): ProfileMount[] {
  const known =
    munge === mungeInside || mounts.some(({ source, target = source }) => target === munge);
  return [
    readOnly(config, slurmInside),
    readOnly(munge, mungeInside),
    ...(known ? [] : [readOnly(munge, munge)]),
  ];
}

/** The agent's socket as a session sees it. */
export function agentInside(socket: string): string {
  return socket.startsWith(`${hostTmp}/`) ? hostTmpInside + socket.slice(hostTmp.length) : socket;
}

function readOnly(source: string, target: string): ProfileMount {
  return { source, target, readOnly: true, missing: 'fail' };
}
