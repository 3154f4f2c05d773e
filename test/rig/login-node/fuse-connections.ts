import { expect } from 'vitest';
import { directoryOnHold } from './directory-on-hold.ts';
import type { SshHost } from './ssh-host.ts';

const connections = '/sys/fs/fuse/connections';

/** Mounts fusectl, as systemd does. */
export async function showFuseConnections(host: SshHost): Promise<void> {
  const mount = 'mountpoint -q $0 || mount -t fusectl fusectl $0';
  const { exitCode } = await host.asRoot(['sh', '-c', mount, connections]);
  expect(exitCode).toBe(0);
}

/** Ends what waits for a FUSE file system of the user, as root can. */
export async function abortFuse(host: SshHost, user: string): Promise<void> {
  const { uid } = host.account(user);
  const abort = `for one in ${connections}/*; do [ "$(stat -c %u $one)" != ${uid} ] || echo 1 >$one/abort; done`;
  await host.asRoot(['sh', '-c', abort]);
}

/**
 * Lets a user who runs programs on the host keep a directory: whoever looks up a name that is not there waits for the listing, and
 * for who makes a directory meanwhile.
 *
 * @param first what the user does before, in the home
 */
export async function holdDirectory(
  host: SshHost,
  user: string,
  directory: string,
  first = ':',
): Promise<void> {
  const { home } = host.account(user);
  const start = `cd ${home}; cat >hold.py; ${first}; rm -f held
    setsid python3 hold.py ${directory} >held 2>&1 </dev/null &
    until grep -qs silent held; do sleep 0.1; done
    setsid mkdir ${directory}/new-$$ >/dev/null 2>&1 </dev/null & sleep 0.2`;
  const { exitCode, stderr } = await host.asUser(user, ['timeout', '30', 'sh', '-c', start], {
    input: directoryOnHold.replaceAll('/tmp/', `${home}/`),
  });
  expect(exitCode, stderr).toBe(0);
}
