import { failed, type Finding, ok } from '../../system/errors/check-result.ts';
import type { SshSettings } from '../../config/schema/profile/profile.ts';
import type { User } from '../../system/identity/nss.ts';
import { directoryNames } from '../../system/if-present.ts';
import { ifUsable, namesOnMount } from '../../system/user-file.ts';

/** What podman knows without a file (podman-run(1), `--network`). */
const known = ['host', 'none', 'private', 'bridge', 'slirp4netns', 'pasta', 'podman'];

const mostFiles = 1000;

/**
 * Whether the podman networks that profiles name exist: each user has others. Podman is not asked, which would leave a
 * process of the user.
 *
 * @param user default: anybody who has had a session
 */
export function networksFinding({ profiles, storage }: SshSettings, user?: User): Finding {
  const users = `${storage}/users`;
  const owners = user === undefined ? directoryNames(users) : [`${user.uid}`];
  for (const { name, network } of profiles.values())
    if (!known.includes(network) && !owners.some((one) => has(`${users}/${one}`, network)))
      return failed(
        `profile ${name} names a podman network ${network}, which ${user?.name ?? 'no user'} has: its sessions do not start`,
        'Correct `network` of the profile: `private` is for a network of the container’s own.',
      );
  return ok('the podman networks that profiles name exist');
}

/** @param own directory of a user, who can write there. Netavark's networks are in the first place, those of CNI in the second. */
function has(own: string, network: string): boolean {
  const files = (...names: string[]) => ifUsable(() => namesOnMount(own, names, mostFiles)) ?? [];
  return (
    files('storage', 'networks').includes(`${network}.json`) ||
    files('.config', 'cni', 'net.d').includes(`${network}.conflist`)
  );
}
