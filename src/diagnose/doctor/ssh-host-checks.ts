import { existsSync } from 'node:fs';
import { readdir, readFile, stat, statfs } from 'node:fs/promises';
import { basename } from 'node:path';
import type { PodmanPaths, SshSettings } from '../../config/schema/profile/profile.ts';
import { isErrno } from '../../system/errors/berth-error.ts';
import { nextStep } from '../../system/errors/next-step.ts';
import { runProgram } from '../../system/run-program.ts';
import { hasSystemd } from '../../system/systemd-units.ts';
import { programFault } from './program-fault.ts';
import { failed, type Finding, ok, skipped, warning } from '../../system/errors/check-result.ts';
import { ifExists, textIfPresent } from '../../system/if-present.ts';

/** Additional image stores with keep-id, and `--group-add keep-groups` for crun and runc. */
const oldestPodman = [4, 3] as const;

/** Whether podman is installed, and recent enough. */
export async function podmanFinding(
  { podman }: PodmanPaths,
  signal: AbortSignal,
): Promise<Finding> {
  const fault = await programFault(podman, 'Install podman.');
  if (fault !== undefined) return fault;
  const text = (await output(podman, ['--version'], signal)) ?? '';
  const [, version = '', major = '', minor = ''] = /version ((\d+)\.(\d+)\S*)/.exec(text) ?? [];
  const [oldMajor, oldMinor] = oldestPodman;
  const old = Number(major) < oldMajor || (Number(major) === oldMajor && Number(minor) < oldMinor);
  return version === '' || old
    ? failed(
        `${podman} ${version === '' ? 'prints no version' : `has version ${version}`}`,
        `Install podman ${oldestPodman.join('.')} or later.`,
      )
    : ok(`podman ${version}`);
}

/** The other programs of sessions, which only root may change. */
export async function runtimeFinding(
  { runtime, nsenter, init, mountProgram }: PodmanPaths,
  signal: AbortSignal,
): Promise<Finding> {
  const programs = [runtime, nsenter, init, ...(mountProgram === undefined ? [] : [mountProgram])];
  const next = 'Install it, or correct its path in the section podman of ssh.yml.';
  for (const path of programs) {
    const fault = await programFault(path, next);
    if (fault !== undefined) return fault;
  }
  // Last: root runs only programs that nobody else can replace.
  const version = /^\S+/.exec((await output(runtime, ['--version'], signal)) ?? '')?.[0];
  return version === 'crun' || version === 'runc'
    ? ok(programs.map((path) => basename(path)).join(', '))
    : failed(
        `${runtime} is neither crun nor runc: its --version begins with ${JSON.stringify(version ?? '')}`,
        'Set podman.runtime in ssh.yml to crun or runc.',
      );
}

/** newuidmap(1) and newgidmap(1) map subordinate IDs only with root's rights. */
export async function idMapToolsFinding(signal: AbortSignal): Promise<Finding> {
  for (const name of ['newuidmap', 'newgidmap']) {
    const path = `/usr/bin/${name}`;
    const status = await ifExists(stat(path));
    if (status === undefined)
      return failed(`${path} does not exist`, 'Install uidmap (Debian) or shadow-utils (others).');
    if (status.uid === 0 && (status.mode & 0o4000) !== 0) continue;
    // Fedora and Red Hat use file capabilities instead of the setuid bit.
    const capabilities = await output('getcap', [path], signal);
    if (capabilities === undefined)
      return warning(
        `${path} is not setuid root, and its capabilities are not known without getcap`,
        'Install getcap (Debian: libcap2-bin; Red Hat: libcap).',
      );
    const needed = name === 'newuidmap' ? 'cap_setuid' : 'cap_setgid';
    if (!capabilities.includes(needed))
      return failed(
        `${path} is not setuid root and lacks ${needed}: podman cannot start containers`,
        `chown root ${path}; chmod 4755 ${path}`,
      );
  }
  return ok('newuidmap and newgidmap are privileged');
}

/** statfs(2) of cgroup2, CGROUP2_SUPER_MAGIC. */
const cgroup2 = 0x6367_7270;

/** The version of cgroups, and whether it fits `podman.cgroup_manager` of ssh.yml. */
export async function cgroupFinding({ cgroupManager }: PodmanPaths): Promise<Finding> {
  const mounted = await ifExists(statfs('/sys/fs/cgroup'));
  if (mounted?.type !== cgroup2)
    return failed(
      'cgroups v2 is not alone at /sys/fs/cgroup (v1, or the hybrid mode): limits have no effect, and crun does not start',
      hasSystemd()
        ? 'Boot with systemd.unified_cgroup_hierarchy=1.'
        : 'Mount v2 over it, at boot, too: mount -t cgroup2 cgroup2 /sys/fs/cgroup',
    );
  if (cgroupManager === 'systemd' && !hasSystemd())
    return warning(
      'podman.cgroup_manager is systemd, which is not running on this host: no session of a profile with limits starts',
      'Set podman.cgroup_manager: cgroupfs in ssh.yml, and remove `limits` from the profiles.',
    );
  return ok(`cgroups v2, managed by ${cgroupManager}`);
}

/**
 * How many pseudo-terminals the kernel has left for containers. All share `kernel.pty.max`, of which `kernel.pty.reserve` are
 * the host's own (Documentation/filesystems/devpts.rst); nothing limits those of one user.
 */
export async function terminalsFinding(): Promise<Finding> {
  const read = async (name: string): Promise<number> =>
    Number(await readFile(`/proc/sys/kernel/pty/${name}`, 'utf8'));
  const [used, max, reserve] = await Promise.all([read('nr'), read('max'), read('reserve')]);
  const limit = max - reserve;
  if (used < 0.75 * limit) return ok(`${used} of ${limit} pseudo-terminals are in use`);
  return warning(
    `${used} of ${limit} pseudo-terminals are in use: without one, no session in a container gets a terminal`,
    "To see whose: find /proc/[0-9]*/fd -lname '*/ptmx' -printf '%u\\n' | sort | uniq -c. End the sessions of a user who has taken them (`berth sessions end USER`), or raise kernel.pty.max with sysctl: each takes 25 KB of the kernel's memory.",
  );
}

const limitControllers = { cpus: 'cpu', memory: 'memory', pids: 'pids' } as const;

/**
 * Whether the service manager of a user has the cgroup controllers that the limits of profiles need.
 *
 * @param uid of the user; any running service manager if absent
 */
export async function delegationFinding(settings: SshSettings, uid?: number): Promise<Finding> {
  const wanted = wantedControllers(settings);
  const list = [...wanted].join(', ');
  if (wanted.size === 0) return ok('no profile limits CPU, memory or processes');
  if (settings.podman.cgroupManager === 'cgroupfs')
    return failed(
      `profiles limit ${list}, which cgroupfs cannot set for users: no session with such a profile starts`,
      nextStep('cgroup-not-delegated'),
    );
  const found = await delegated(uid);
  if (found === undefined)
    return skipped(
      `not checked: no user@${uid ?? 'UID'}.service is running; systemd starts it when the user logs in`,
    );
  const missing = [...wanted].filter((one) => !found.controllers.includes(one));
  return missing.length === 0
    ? ok(`controllers delegated to users: ${list}`)
    : failed(
        `${found.unit} has no controller ${missing.join(', ')}, which limits of profiles need`,
        `${nextStep('cgroup-not-delegated')} Then have the users log in again.`,
      );
}

function wantedControllers({ profiles }: SshSettings): Set<string> {
  const limits = [...profiles.values()].flatMap((profile) =>
    (['cpus', 'memory', 'pids'] as const).filter((key) => profile.limits[key] !== undefined),
  );
  return new Set(limits.map((key) => limitControllers[key]));
}

async function delegated(
  uid: number | undefined,
): Promise<{ unit: string; controllers: string[] } | undefined> {
  const root = '/sys/fs/cgroup/user.slice';
  const uids =
    uid === undefined
      ? (await readdir(root).catch(() => [])).flatMap(
          (name) => /^user-(\d+)\.slice$/.exec(name)?.[1] ?? [],
        )
      : [String(uid)];
  for (const one of uids) {
    const unit = `user@${one}.service`;
    const text = await ifExists(
      readFile(`${root}/user-${one}.slice/${unit}/cgroup.controllers`, 'utf8'),
    );
    if (text !== undefined) return { unit, controllers: text.trim().split(' ') };
  }
  return undefined;
}

/** Whether users can open the devices that rootless podman needs. */
export async function devicesFinding({
  podman,
  profiles,
}: Pick<SshSettings, 'podman' | 'profiles'>): Promise<Finding> {
  const wanted = [
    ...(podman.mountProgram === undefined ? [] : ['/dev/fuse']),
    ...([...profiles.values()].some(({ network }) => !['host', 'none'].includes(network))
      ? ['/dev/net/tun']
      : []),
  ];
  for (const path of wanted) {
    const status = await ifExists(stat(path));
    if (status === undefined)
      return failed(
        `${path} does not exist`,
        `Run \`modprobe ${basename(path)}\`, and add it to /etc/modules-load.d.`,
      );
    if (!status.isCharacterDevice() || (status.mode & 0o006) !== 0o006)
      return failed(
        `users cannot open ${path}`,
        `Run \`chmod 666 ${path}\`, and add a udev rule for it.`,
      );
  }
  return ok(wanted.length === 0 ? 'no device is needed' : `users can open ${wanted.join(', ')}`);
}

/** Whether users can let root into their FUSE file systems: fuse.conf(5). */
export function fuseFinding(): Finding {
  return /^\s*user_allow_other\b/m.test(textIfPresent('/etc/fuse.conf'))
    ? warning(
        '/etc/fuse.conf has user_allow_other: programs of root can wait for ever for a FUSE file system of a user who can run programs on this host',
        'Remove the line user_allow_other from /etc/fuse.conf.',
      )
    : ok("users' FUSE file systems are closed to root");
}

/** Whether anything takes what Berth logs: logger(1) writes to this socket of syslog or of the journal. */
export function syslogFinding(): Finding {
  return existsSync('/dev/log')
    ? ok('what Berth logs goes to /dev/log')
    : warning(
        'there is no /dev/log, so neither syslog nor a journal takes what Berth logs, and it is lost',
        'Start rsyslog or systemd-journald-dev-log.socket. In a container, mount the /dev/log of its host.',
      );
}

/** The output of a program; undefined if it does not exist. */
async function output(
  file: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { error, stdout } = await runProgram(file, args, { signal });
  if (error === undefined) return stdout;
  if (isErrno(error, 'ENOENT')) return undefined;
  throw new Error(`${file}: ${error.message.trim()}`, { cause: error });
}
