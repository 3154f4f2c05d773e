import { spawn } from 'node:child_process';
import {
  chmod,
  chown,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ifMissing } from '../../../rig/if-missing.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { directoryOnHold } from '../../../rig/login-node/directory-on-hold.ts';
import { overlayOnFuse } from '../../../rig/login-node/overlay-on-fuse.ts';
import type { Account } from '../../../rig/site/accounts.ts';
import { publicDirectory } from '../../../rig/site/directories.ts';
import type { Mounts } from './mounts.ts';

const connections = '/sys/fs/fuse/connections';

/** How a user, with programs of theirs on the host, lets whoever works in ~/.kube wait for a FUSE daemon that does not answer. */
export const silentHomes = ['a link into an overlay', 'a directory on hold'] as const;

/** @returns ends it, as root can: no FUSE connection of the user stays */
export async function silenceHome(
  account: Account,
  how: (typeof silentHomes)[number],
  mounts: Mounts,
): Promise<() => Promise<void>> {
  const { uid, gid, home } = account;
  const directory = await mkdtemp(join(publicDirectory, 'silent-'));
  await chown(directory, uid, gid);
  // Distributions let everybody open /dev/fuse.
  await execa('mknod', [`${directory}/fuse`, 'c', '10', '229']);
  await chmod(`${directory}/fuse`, 0o666);
  if ((await readdir(connections)).length === 0)
    await execa('mount', ['-t', 'fusectl', 'fusectl', connections], { reject: false });
  const kube = join(home, '.kube');
  const [text, ...args] =
    how === 'a link into an overlay' ? [overlayOnFuse, 'wholly'] : [directoryOnHold, kube];
  const program = text
    .replace('/dev/fuse', `${directory}/fuse`)
    .replaceAll('/tmp/', `${directory}/`);
  await writeFile(`${directory}/program.py`, program);
  const words = [
    '--user',
    account.name,
    '--',
    '/usr/bin/python3',
    `${directory}/program.py`,
    ...args,
  ];
  const daemon = spawn('runuser', words, {
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  daemon.stdout.on('data', (more: Buffer) => (output += more.toString()));
  const end = async (): Promise<void> => {
    for (const name of await readdir(connections)) {
      // Those of other tests come and go, and this one's goes by itself once its daemon has ended.
      const status = await stat(join(connections, name)).catch(ifMissing(undefined));
      if (status?.uid === uid)
        await writeFile(join(connections, name, 'abort'), '1').catch(ifMissing(undefined));
    }
  };
  mounts.defer(async () => {
    await end();
    if (daemon.pid !== undefined && daemon.exitCode === null) process.kill(-daemon.pid, 'SIGKILL');
    await rm(kube, { force: true, recursive: true });
    await rm(directory, { recursive: true });
  });
  await waitFor({ what: how, timeoutMs: 10_000, everyMs: 20 }, () =>
    Promise.resolve(output.includes('silent') ? true : undefined),
  );
  if (how === 'a link into an overlay') {
    const [, pid = ''] = /silent (\d+)/.exec(output) ?? [];
    await rename(kube, `${kube}.away`);
    await symlink(`/proc/${pid}/root${directory}/overlay`, kube);
  }
  return async () => {
    await end();
    if (how !== 'a link into an overlay') return;
    await rm(kube);
    await rename(`${kube}.away`, kube);
  };
}

/** Processes whose command line has all these words, also those whose first thread has ended. */
export async function processesWith(...words: readonly string[]): Promise<number> {
  let count = 0;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
    const lines = await Promise.all(
      tasks.map((task) => readFile(`/proc/${pid}/task/${task}/cmdline`, 'utf8').catch(() => '')),
    );
    if (lines.some((line) => words.every((word) => line.includes(word)))) count += 1;
  }
  return count;
}
