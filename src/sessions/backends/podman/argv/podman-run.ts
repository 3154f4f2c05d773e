import type { Profile } from '../../../../config/schema/profile/profile.ts';
import type { IdMapEntry } from './id-maps.ts';
import { podmanCommand } from './podman-argv.ts';
import type { ProgramCall } from '../../../../system/program/program-call.ts';
import type { SessionHost } from '../../../request/session-host.ts';
import { fillTemplate } from '../../../request/fill-template.ts';
import { sessionId } from '../../../../system/program/session-id.ts';

/** A mount whose templates are filled and whose source exists. */
export interface ResolvedMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/**
 * Name of the container for a connection: one per user and profile, or one per connection, as the profile's
 * `lifetime` says. Podman's names are per user.
 */
export function containerName(profile: Profile, connection: string | undefined): string {
  const shared = profile.lifetime.kind !== 'connection' || connection === undefined;
  return shared ? `berth-${profile.name}` : `berth-${profile.name}-${connection}`;
}

const hostsOwn = '/sys/fs/cgroup:/sys/fs/fuse/connections';

/**
 * `podman run` for a container whose first process only waits; sessions join it. The user's UID and GID are
 * the same inside as outside (keep-id), and all groups keep their rights.
 */
export function podmanRunCommand(
  host: SessionHost,
  profile: Profile,
  ready: {
    readonly mounts: readonly ResolvedMount[];
    /** Used instead of the profile's. */
    readonly image?: string;
    /** Set if supplementary groups keep their numbers inside. */
    readonly maps?: IdMaps;
  },
): ProgramCall {
  const { user, connection } = host;
  const name = containerName(profile, connection);
  const args = [
    'run',
    '--detach',
    '--replace',
    '--name',
    name,
    ...(connection === undefined ? [] : ['--label', `berth.session=${sessionId(connection)}`]),
    ...userNamespace(ready.maps),
    '--group-add',
    'keep-groups',
    ...(ready.maps === undefined ? ['--passwd-entry', passwdEntry(host.user)] : []),
    '--log-driver',
    'none',
    '--stop-timeout',
    '1',
    ...(host.jobDirectory === undefined ? [] : ['--cgroups', 'disabled']),
    ...profileRunArgs(profile, ready.mounts, (template) => fillTemplate(template, user)),
    '--workdir',
    '/',
    '--env',
    `HOME=${user.home}`,
    '--pidfile',
    containerPidFile(host, name),
    // Not the image's entry point: an init process that reaps zombies and waits.
    '--init',
    '--init-path',
    host.podman.init,
    '--entrypoint',
    '[]',
    ready.image ?? profile.image,
    '/run/podman-init',
    '-P',
  ];
  return podmanCommand(host, args);
}

/**
 * What the profile alone says of a container, for a session, a batch job or a notebook.
 *
 * @param fill Replaces the templates of the profile
 */
export function profileRunArgs(
  profile: Profile,
  mounts: readonly ResolvedMount[],
  fill: (template: string) => string,
): string[] {
  const { limits, podman } = profile;
  return [
    '--network',
    profile.network === 'private' ? 'slirp4netns' : profile.network,
    ...(profile.hostname === undefined ? [] : ['--hostname', fill(profile.hostname)]),
    '--pull',
    profile.pull,
    '--http-proxy=false',
    ...mounts.flatMap(mountArgs),
    ...scratchVolumes(mounts),
    ...(limits.cpus === undefined ? [] : ['--cpus', String(limits.cpus)]),
    ...(limits.memory === undefined ? [] : ['--memory', `${limits.memory}b`]),
    ...(limits.pids === undefined ? [] : ['--pids-limit', String(limits.pids)]),
    ...podman.devices.flatMap((device) => ['--device', device]),
    ...podman.capabilities.add.flatMap((capability) => ['--cap-add', capability]),
    ...podman.capabilities.drop.flatMap((capability) => ['--cap-drop', capability]),
    // Podman binds the host's /sys for its network, and the user may write to cgroups and FUSE connections of the user's own.
    ...(profile.network === 'host' ? ['--security-opt', `mask=${hostsOwn}`] : []),
    ...(podman.selinux === undefined ? [] : ['--security-opt', `label=${podman.selinux}`]),
  ];
}

/**
 * Volumes: on disk, and removed with the container. In the image's layers this would fail: fuse-overlayfs copies
 * up a directory of the shared store with that store's mode, 0755, and then no second file can be created.
 */
function scratchVolumes(mounts: readonly ResolvedMount[]): string[] {
  return ['/tmp', '/var/tmp']
    .filter((path) => mounts.every(({ target }) => target !== path))
    .flatMap((path) => ['--volume', path]);
}

/** Where podman writes the PID, on the host, of the container's first process. */
export function containerPidFile(
  { runtimeDir }: Pick<SessionHost, 'runtimeDir'>,
  name: string,
): string {
  return `${runtimeDir}/berth/${name}.pid`;
}

export interface IdMaps {
  readonly uids: readonly IdMapEntry[];
  readonly gids: readonly IdMapEntry[];
}

function userNamespace(maps: IdMaps | undefined): string[] {
  if (maps === undefined) return ['--userns', 'keep-id'];
  const args = (option: string, extents: readonly IdMapEntry[]): string[] =>
    extents.flatMap(({ inside, outside, count }) => [option, `${inside}:${outside}:${count}`]);
  return [
    ...args('--uidmap', maps.uids),
    ...args('--gidmap', maps.gids),
    // With maps, podman would run it as the container's root, and name the user's group by its number.
    '--user',
    userInside(maps),
    '--passwd=false',
  ];
}

/** The IDs inside that are ID 0 in the user's namespace, which is the user. */
function userInside({ uids, gids }: IdMaps): string {
  return [uids, gids]
    .map((extents) => extents.find(({ outside }) => outside === 0)?.inside ?? 0)
    .join(':');
}

/** The user's line in passwd(5) inside the container. */
export function passwdEntry(user: SessionHost['user']): string {
  return `${user.name}:*:${user.uid}:${user.gid}::${user.home}:${user.shell}`;
}

/** Not `--volume`, which separates with colons. A comma, which separates here, was refused before. */
export function mountArgs({ source, target, readOnly }: ResolvedMount): string[] {
  const options = ['type=bind', `source=${source}`, `target=${target}`, 'bind-propagation=rslave'];
  return ['--mount', [...options, ...(readOnly ? ['readonly'] : [])].join(',')];
}
