import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { measuredWalls, wallRatio } from '../measured-ratio.ts';
import { runInterleaved, measure, type Command } from '../measure.ts';
import { checkBound, table } from '../report.ts';
import { replacedNsenter, sshCommand, user, type Nodes } from './nodes.ts';

const runs = 15;

/** How long to wait after a client has ended, for PAM's close and podman's removal of the container. Milliseconds. */
const pauseMs = 1_000;

/** `ssh host true` into a running container, next to plain sshd. */
export async function warm({ plain, warm: berth }: Nodes): Promise<void> {
  await measure(sshCommand(berth, 'true'));
  const commands = {
    berth: () => Promise.resolve(sshCommand(berth, 'true')),
    plain: () => Promise.resolve(sshCommand(plain, 'true')),
  };
  const samples = await runInterleaved<'berth' | 'plain'>(runs, commands, pauseMs);
  table(samples);
  checkBound('wall, of plain sshd', wallRatio(samples.berth, samples.plain), {
    atMost: 1.6,
  });
}

/** `ssh host true` with a new container, next to a forced `podman run --rm`. */
export async function fresh({ podmanRun, fresh: berth }: Nodes): Promise<void> {
  for (const node of [podmanRun, berth]) await measure(sshCommand(node, 'true'));
  const commands = {
    berth: () => Promise.resolve(sshCommand(berth, 'true')),
    'podman run': () => Promise.resolve(sshCommand(podmanRun, 'true')),
  };
  const samples = await runInterleaved<'berth' | 'podman run'>(runs, commands, pauseMs);
  table(samples);
  checkBound('wall, of a forced podman run', wallRatio(samples.berth, samples['podman run']), {
    atMost: 1.15,
  });
}

/** The login program until it is replaced: by `true` instead of nsenter. */
export async function share({ share: berth }: Nodes): Promise<void> {
  const { uid, gid } = berth.account(user);
  // Starts the container, and lets the PAM hook compile the settings, once no file is too new for that.
  const compiled = `/proc/${berth.init}/root/var/cache/berth/ssh.json`;
  await waitFor({ what: 'the compiled settings', timeoutMs: 20_000 }, async () => {
    await measure(sshCommand(berth, 'true'));
    return existsSync(compiled) || undefined;
  });
  await berth.asRoot(['ln', '-sfn', '/bin/true', replacedNsenter]);
  const environment = { PATH: '/usr/bin:/bin', HOME: '/', USER: user };
  const asUser = (...words: string[]): Command => ({
    file: '/usr/bin/nsenter',
    args: [
      ...['--target', String(berth.init), '--mount', '--pid', '--uts', '--wd=/'],
      ...['setpriv', '--reuid', String(uid), '--regid', String(gid), '--init-groups', ...words],
    ],
    env: environment,
  });
  const samples = await runInterleaved<'login' | 'node' | 'nothing'>(runs, {
    login: () => Promise.resolve(asUser(join(installDirectory, 'shell/login'))),
    node: () => Promise.resolve(asUser(join(installDirectory, 'node'), '--eval', '0')),
    nothing: () => Promise.resolve(asUser('/bin/true')),
  });
  table(samples);
  const share = measuredWalls(
    [samples.login, samples.node, samples.nothing],
    ([login = 0, node = 1, nothing = 0]) => (login - nothing) / (node - nothing),
  );
  checkBound('wall, of a bare Node start', share, { atMost: 1.5 });
}
