import type { Profile, ProfileMount, ProfileSlurm } from '../../config/schema/profile/profile.ts';
import { fillTemplate } from './fill-template.ts';
import type { SessionHost } from './session-host.ts';

/** Variables that every client may send; AcceptEnv of sshd_config decides which ones arrive. */
const always = ['TERM', 'LANG', 'LC_*', 'SSH_CLIENT', 'SSH_CONNECTION', 'SSH_TTY', 'COLORTERM'];

/**
 * The environment of a session. Later ones override earlier ones: the image's variables, the user's name and
 * home, the client's variables that are allowed, and the profile's `environment.set`.
 *
 * @param inside `NAME=VALUE` of the image, and the path of the shell inside.
 * @param given The environment that sshd set.
 * @throws {BerthError} the errors of `fillTemplate`
 */
export function sessionEnvironment(
  inside: { readonly env: readonly string[]; readonly shell: string },
  given: Readonly<NodeJS.ProcessEnv>,
  { profile, host }: { readonly profile: Profile; readonly host: SessionHost },
): Readonly<Record<string, string>> {
  const { user, connection } = host;
  const passed = passedVariables(profile, given).map(([name, value]): [string, string] => [
    name,
    name === 'SSH_AUTH_SOCK' ? agentInside(value) : value,
  ]);
  return {
    ...Object.fromEntries(inside.env.map(pair)),
    HOME: user.home,
    USER: user.name,
    LOGNAME: user.name,
    SHELL: inside.shell,
    ...Object.fromEntries(passed),
    ...profileEnvironment(profile, (template) => fillTemplate(template, user)),
    ...(connection !== undefined && { BERTH_CONNECTION: connection }),
  };
}

/** What a session gets of the environment that sshd set. */
export function passedVariables(
  profile: Profile,
  given: Readonly<NodeJS.ProcessEnv>,
): [string, string][] {
  const allowed = [
    ...always,
    ...(profile.agent ? ['SSH_AUTH_SOCK'] : []),
    ...(profile.x11 ? ['DISPLAY'] : []),
    ...profile.environment.pass,
  ];
  return Object.entries(given).flatMap(([name, value]): [string, string][] =>
    value !== undefined && allowed.some((pattern) => fits(name, pattern)) ? [[name, value]] : [],
  );
}

/**
 * The variables that the profile alone sets, for a session, a batch job or an app.
 *
 * @param fill Replaces the templates of the profile
 */
export function profileEnvironment(
  { name, slurm, environment }: Profile,
  fill: (template: string) => string,
): Readonly<Record<string, string>> {
  const set = Object.entries(environment.set).map(([key, value]) => [key, fill(value)] as const);
  return {
    ...(slurm && { SLURM_CONF: `${slurmDirInside}/slurm.conf` }),
    ...Object.fromEntries(set),
    BERTH_PROFILE: name,
  };
}

function fits(name: string, pattern: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function pair(text: string): [string, string] {
  const end = text.indexOf('=');
  return end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end + 1)];
}

/** Directory of slurm.conf inside a session; SLURM_CONF points to it. */
const slurmDirInside = '/etc/slurm';

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
function agentInside(socket: string): string {
  return socket.startsWith(`${hostTmp}/`) ? hostTmpInside + socket.slice(hostTmp.length) : socket;
}

function readOnly(source: string, target: string): ProfileMount {
  return { source, target, readOnly: true, missing: 'fail' };
}
