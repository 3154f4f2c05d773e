import type { Profile } from '../../../config/profile/profile.ts';
import type { IdExtent } from './id-map.ts';
import { podmanCall } from './podman-argv.ts';
import type { ProgramCall } from '../../../program-call.ts';
import type { SessionHost } from '../../request/session-host.ts';
import { fillTemplate } from '../../request/template.ts';

/** A mount with its templates filled and its source known to be there. */
export interface ReadyMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/**
 * The name of the container that a connection's sessions run in: the same for all connections of a
 * user, or the connection's own. Podman's names are per user.
 */
export function containerName(profile: Profile, connection: string | undefined): string {
  const shared = profile.lifetime.kind !== 'connection' || connection === undefined;
  return shared ? `berth-${profile.name}` : `berth-${profile.name}-${connection}`;
}

/**
 * `podman run` of a container that only waits: every session joins it. The user's UID and GID are the
 * same inside as outside (keep-id), and so are the rights of all groups.
 */
export function containerRun(
  host: SessionHost,
  profile: Profile,
  ready: {
    readonly mounts: readonly ReadyMount[];
    /** In place of the profile's. */
    readonly image?: string;
    /** Where supplementary groups have their own numbers inside. */
    readonly maps?: IdMaps;
  },
): ProgramCall {
  const { user, connection } = host;
  const name = containerName(profile, connection);
  const { limits, podman } = profile;
  const words = [
    'run',
    '--detach',
    '--replace',
    ...['--name', name],
    ...userNamespace(ready.maps),
    ...['--group-add', 'keep-groups'],
    ...(ready.maps === undefined ? ['--passwd-entry', passwdEntry(host.user)] : []),
    ...['--network', profile.network === 'private' ? 'slirp4netns' : profile.network],
    ...(profile.hostname === undefined ? [] : ['--hostname', fillTemplate(profile.hostname, user)]),
    ...['--pull', profile.pull],
    ...['--log-driver', 'none'],
    ...['--stop-timeout', '1'],
    '--http-proxy=false',
    ...ready.mounts.flatMap(mountWords),
    ...scratchFolders(ready.mounts),
    ...['--workdir', '/'],
    ...['--env', `HOME=${user.home}`],
    ...(limits.cpus === undefined ? [] : ['--cpus', String(limits.cpus)]),
    ...(limits.memory === undefined ? [] : ['--memory', `${limits.memory}b`]),
    ...(limits.pids === undefined ? [] : ['--pids-limit', String(limits.pids)]),
    ...podman.devices.flatMap((device) => ['--device', device]),
    ...podman.capabilities.add.flatMap((capability) => ['--cap-add', capability]),
    ...podman.capabilities.drop.flatMap((capability) => ['--cap-drop', capability]),
    ...(podman.selinux === undefined ? [] : ['--security-opt', `label=${podman.selinux}`]),
    ...['--pidfile', pidFile(host, name)],
    // The image's own entry point is not asked: an init that reaps, and waits.
    ...['--init', '--init-path', host.podman.init],
    ...['--entrypoint', '[]'],
    ready.image ?? profile.image,
    ...['/run/podman-init', '-P'],
  ];
  return podmanCall(host, words);
}

/**
 * On the disk and gone with the container. Not in the image's layers: fuse-overlayfs, when it copies a
 * folder of the shared store up, gives it its mode there, 0755, and the second file cannot be made.
 */
function scratchFolders(mounts: readonly ReadyMount[]): string[] {
  return ['/tmp', '/var/tmp']
    .filter((folder) => mounts.every(({ target }) => target !== folder))
    .flatMap((folder) => ['--volume', folder]);
}

/** Where podman writes the host's PID of the container's first process. */
export function pidFile({ runFolder }: Pick<SessionHost, 'runFolder'>, name: string): string {
  return `${runFolder}/berth/${name}.pid`;
}

export interface IdMaps {
  readonly uids: readonly IdExtent[];
  readonly gids: readonly IdExtent[];
}

function userNamespace(maps: IdMaps | undefined): string[] {
  if (maps === undefined) return ['--userns', 'keep-id'];
  const words = (option: string, extents: readonly IdExtent[]): string[] =>
    extents.flatMap(({ inside, outside, count }) => [option, `${inside}:${outside}:${count}`]);
  return [
    ...words('--uidmap', maps.uids),
    ...words('--gidmap', maps.gids),
    // With maps, podman would run as the container's root, and call the user's group by its number.
    ...['--user', userInside(maps)],
    '--passwd=false',
  ];
}

/** Who is ID 0 of the first step: the user. */
function userInside({ uids, gids }: IdMaps): string {
  return [uids, gids]
    .map((extents) => extents.find(({ outside }) => outside === 0)?.inside ?? 0)
    .join(':');
}

/** passwd(5), for inside. */
export function passwdEntry(user: SessionHost['user']): string {
  return `${user.name}:*:${user.uid}:${user.gid}::${user.home}:${user.shell}`;
}

/** `--mount` and not `--volume`: a colon in a path is then no separator; a comma is refused before. */
function mountWords({ source, target, readOnly }: ReadyMount): string[] {
  const options = ['type=bind', `source=${source}`, `target=${target}`, 'bind-propagation=rslave'];
  return ['--mount', [...options, ...(readOnly ? ['readonly'] : [])].join(',')];
}
