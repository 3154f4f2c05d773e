import { readdir, readFile, stat, statfs } from 'node:fs/promises';
import { basename } from 'node:path';
import type { PodmanPaths, SshSettings } from '../config/profile/profile.ts';
import { isErrno } from '../errors.ts';
import { runProgram } from '../system/run-program.ts';
import { writableFindings } from '../sshd-lint/lint-writable.ts';
import { failed, type Finding, ok, skipped, warning } from '../finding.ts';
import { there } from './if-exists.ts';

/** Additional image stores with keep-id, and `--group-add keep-groups` for crun and runc. */
const oldestPodman = [4, 3] as const;

/** podman is there, and new enough. */
export async function podmanFinding(
  { podman }: PodmanPaths,
  signal: AbortSignal,
): Promise<Finding> {
  const [open] = await writableFindings(podman, 'program-writable');
  if (open !== undefined) return failed(open.message, open.closedBy);
  const text = await output(podman, ['--version'], signal);
  if (text === undefined) return failed(`${podman} is not there`, 'Install podman.');
  const [, version = '', major = '', minor = ''] = /version ((\d+)\.(\d+)\S*)/.exec(text) ?? [];
  const [oldMajor, oldMinor] = oldestPodman;
  const old = Number(major) < oldMajor || (Number(major) === oldMajor && Number(minor) < oldMinor);
  return version === '' || old
    ? failed(
        `${podman} is ${version === '' ? 'no podman that says its version' : version}`,
        `Install podman ${oldestPodman.join('.')} or later.`,
      )
    : ok(`podman ${version}`);
}

/** What the sessions run beside podman, of which only root may have a say. */
export async function runtimeFinding(
  { runtime, nsenter, init, mountProgram }: PodmanPaths,
  signal: AbortSignal,
): Promise<Finding> {
  const programs = [runtime, nsenter, init, ...(mountProgram === undefined ? [] : [mountProgram])];
  for (const path of programs) {
    const status = await there(stat(path));
    const next = 'Install it, or name the right one in ssh.yml (podman).';
    if (status === undefined) return failed(`${path} is not there`, next);
    if (!status.isFile() || (status.mode & 0o001) === 0)
      return failed(`users cannot run ${path}`, `chmod 755 ${path}`);
    const [open] = await writableFindings(path, 'program-writable');
    if (open !== undefined) return failed(open.message, open.closedBy);
  }
  // Asked last: root runs only what nobody else can replace.
  const version = /^\S+/.exec((await output(runtime, ['--version'], signal)) ?? '')?.[0];
  return version === 'crun' || version === 'runc'
    ? ok(programs.map((path) => basename(path)).join(', '))
    : failed(
        `${runtime} is neither crun nor runc: its --version begins with ${JSON.stringify(version ?? '')}`,
        'Name crun or runc as podman.runtime in ssh.yml.',
      );
}

/** newuidmap(1) and newgidmap(1) map subordinate IDs only with root's rights. */
export async function idMapToolsFinding(signal: AbortSignal): Promise<Finding> {
  for (const name of ['newuidmap', 'newgidmap']) {
    const path = `/usr/bin/${name}`;
    const status = await there(stat(path));
    if (status === undefined)
      return failed(`${path} is not there`, 'Install it: uidmap (Debian), shadow-utils (others).');
    if (status.uid === 0 && (status.mode & 0o4000) !== 0) continue;
    // Fedora and its kin give it file capabilities in the place of the bit.
    const capabilities = await output('getcap', [path], signal);
    if (capabilities === undefined)
      return warning(
        `${path} is not setuid root, and getcap is not there to tell more`,
        'Install libcap.',
      );
    if (!capabilities.includes(name === 'newuidmap' ? 'cap_setuid' : 'cap_setgid'))
      return failed(
        `${path} is neither setuid root nor has it the capability: podman starts nothing`,
        `chown root ${path}; chmod 4755 ${path}`,
      );
  }
  return ok('newuidmap and newgidmap have their rights');
}

/** statfs(2) of cgroup2, CGROUP2_SUPER_MAGIC. */
const cgroup2 = 0x6367_7270;

/** The version of the cgroups, and whether it goes with the way that ssh.yml names. */
export async function cgroupFinding({ cgroupManager }: PodmanPaths): Promise<Finding> {
  const { type } = await statfs('/sys/fs/cgroup');
  if (type !== cgroup2)
    return failed(
      'this host has cgroups of version 1 (or both)',
      'Boot with systemd.unified_cgroup_hierarchy=1; without it users have no limits and crun starts nothing.',
    );
  if (cgroupManager === 'systemd' && (await there(stat('/run/systemd/system'))) === undefined)
    return warning(
      'ssh.yml wants cgroups of systemd, which does not run here: limits of profiles are not kept',
      'Say `cgroup_manager: cgroupfs` under podman in ssh.yml.',
    );
  return ok(`cgroups of version 2, by ${cgroupManager}`);
}

const limitControllers = { cpus: 'cpu', memory: 'memory', pids: 'pids' } as const;

/**
 * The controllers that a user's own service manager may use: without them podman cannot keep what the
 * profiles limit.
 *
 * @param uid whose to look at; any that runs where absent
 */
export async function delegationFinding(settings: SshSettings, uid?: number): Promise<Finding> {
  const wanted = wantedControllers(settings);
  const list = [...wanted].join(', ');
  if (wanted.size === 0) return ok('no profile limits CPU, memory or processes');
  if (settings.podman.cgroupManager === 'cgroupfs')
    return warning(
      `profiles limit ${list}, which cgroupfs cannot keep for users`,
      'Use systemd (cgroup_manager), or take the limits out of the profiles.',
    );
  const found = await delegated(uid);
  if (found === undefined)
    return skipped('no service manager of a user runs at the moment, in which this could be seen');
  const missing = [...wanted].filter((one) => !found.controllers.includes(one));
  return missing.length === 0
    ? ok(`users have ${list} for their containers`)
    : failed(
        `${found.unit} may not use ${missing.join(', ')}, which profiles limit`,
        'Give [Service] Delegate=cpu memory pids to user@.service (a drop-in), then systemctl daemon-reload and new logins.',
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
    const text = await there(
      readFile(`${root}/user-${one}.slice/${unit}/cgroup.controllers`, 'utf8'),
    );
    if (text !== undefined) return { unit, controllers: text.trim().split(' ') };
  }
  return undefined;
}

/** Devices that rootless podman opens as the user. */
export async function devicesFinding({ podman, profiles }: SshSettings): Promise<Finding> {
  const wanted = [
    ...(podman.mountProgram === undefined ? [] : ['/dev/fuse']),
    ...([...profiles.values()].some(({ network }) => !['host', 'none'].includes(network))
      ? ['/dev/net/tun']
      : []),
  ];
  for (const path of wanted) {
    const status = await there(stat(path));
    if (status === undefined)
      return failed(
        `${path} is not there`,
        `modprobe ${basename(path)}, at each boot (modules-load.d).`,
      );
    if (!status.isCharacterDevice() || (status.mode & 0o006) !== 0o006)
      return failed(
        `users cannot open ${path}`,
        `chmod 666 ${path}, at each boot (a rule of udev).`,
      );
  }
  return ok(wanted.length === 0 ? 'no device is needed' : `users can open ${wanted.join(', ')}`);
}

/** What a program prints; nothing where there is no such program. */
async function output(
  file: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const { error, stdout } = await runProgram(file, args, { signal, cwd: '/' });
  if (error === undefined) return stdout;
  if (isErrno(error, 'ENOENT')) return undefined;
  throw new Error(`${file}: ${error.message.trim()}`, { cause: error });
}
