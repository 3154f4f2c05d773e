import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { recordedConnections } from '../../connections/open-connections.ts';
import type { SessionContext } from '../../connections/state-paths.ts';
import type { User } from '../../../system/identity/nss.ts';
import { sessionEnd } from '../../request/shown-session-end.ts';
import { writeToStderr } from '../../../system/process-stderr.ts';
import { processArguments } from '../../../system/processes.ts';
import type { OwnSession } from '../own-session.ts';
import { containerNotePath } from './container-notes.ts';
import { type BerthContainer, listBerthContainers, removeContainers } from './remove-containers.ts';
import {
  belongsToConnection,
  type BerthProcess,
  readUserState,
  userProcesses,
} from './user-processes.ts';

/**
 * The containers on this host of the user who runs this process. Podman is not started.
 *
 * @throws {BerthError} the errors of `listBerthContainers`
 */
export async function ownContainers(site: SessionContext, user: User): Promise<OwnSession[]> {
  const state = await readUserState(site, user);
  const containers = await listBerthContainers(site, state);
  const processes = containers.length === 0 ? [] : userProcesses(state.owner);
  const open = recordedConnections(site, user.uid);
  return containers.map((container) => {
    const { name, profile, created, connection } = container;
    const inside = processes.filter((one) => one.container === name);
    const isUsedBy = (id: string): boolean =>
      inside.some((one) =>
        belongsToConnection(one, {
          id,
          session: undefined,
          hostProcesses: false,
          orphanedSshd: false,
        }),
      );
    return {
      name,
      profile,
      backend: 'podman',
      state: inside.length > 0 ? 'running' : 'stopped',
      since: created === 0 ? undefined : created,
      connections: open.filter(isUsedBy).length,
      ends: sessionEnd(site.settings.profiles.get(profile), connection, created),
      end: async () => {
        tellOwnSessions(userProcesses(state.owner), container);
        const { failed } = await removeContainers(state, [container]);
        if (failed[0] !== undefined) throw failed[0];
        await removeNote(user, container);
      },
    };
  });
}

/** What logins on other nodes are told about it. */
async function removeNote(user: User, { profile, connection }: BerthContainer): Promise<void> {
  if (connection !== undefined) return;
  await rm(containerNotePath(user, { host: hostname(), profile }), { force: true });
}

/**
 * Tells the sessions in a container that it ends, on their standard error. For the user who runs this process: nothing is
 * looked at that the user could not write to.
 *
 * @param processes all of the user's
 */
function tellOwnSessions(
  processes: readonly BerthProcess[],
  { id, name }: Pick<BerthContainer, 'id' | 'name'>,
): void {
  for (const { pid, leader, part } of processes)
    if (pid === leader && part === 'client' && processArguments(pid).includes(id))
      writeToStderr(
        pid,
        `login: you ended your container ${name} from another connection: this session ends now. Log in again for a new one.`,
        () => true,
      );
}
