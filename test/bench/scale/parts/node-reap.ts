import { existsSync, readdirSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseConnectionId } from '../../../../src/sessions/connections/connection-record.ts';
import { mapConcurrent } from '../../../../src/system/map-concurrent.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { ensureCommand } from '../../../rig/site/debian-packages.ts';
import { installBerth, installDirectory } from '../../../rig/site/portal.ts';
import { measure, type Sample } from '../../measure.ts';
import { user } from '../../ssh/nodes.ts';
import { addCrowd, crowdUser, registerConnections, type StandInConnections } from '../crowd.ts';
import type { RecordFigure } from '../figures.ts';
import type { ScalePart } from '../parts.ts';

const sessionCounts = [200, 1_000, 2_000];
const users = 500;
/** Users with real sessions in real containers; of each, all but one are killed. */
const [realUsers, sessionsEach] = [20, 6];
const connections = '/run/berth/connections';

/**
 * The reaper of a login node. The sessions that are killed, and one more of each of their users, are real; the others' are simulated:
 * `registerConnections`.
 */
export const nodeReap: ScalePart = {
  title: 'The reaper of a login node',
  async run(record) {
    await ensureCommand('time', 'time');
    await installBerth();
    const login = join(installDirectory, 'shell/login');
    const host = await SshHost.start({
      ...{ mode: 'forced', users: { [user]: [] }, profiles: { base } },
      sshd: `ForceCommand ${login} --config /etc/berth/ssh.yml`,
    });
    const sessions: LiveSession[] = [];
    try {
      await addCrowd(host, users);
      await authorize(host);
      // The first run after a boot looks at all storages.
      await measure(reap(host));
      const others: StandInConnections[] = [];
      const mostOthers = (sessionCounts.at(-1) ?? 0) - realUsers * sessionsEach;
      let from = 0;
      for (const count of sessionCounts) {
        const to = Math.min(count, mostOthers);
        others.push(await registerConnections(host, othersBetween(from, to)));
        from = to;
        if (count > mostOthers) sessions.push(...(await openSessions(host)));
        const idle = await measure(reap(host));
        recordRun(record, idle, 'a run without work', count);
      }
      await reapKilled({ host, sessions, others }, record);
    } finally {
      for (const session of sessions) await session.kill();
      await host.stop();
    }
  },
};

const base = {
  ...{ image: 'localhost/berth-site:1', pull: 'never', network: 'host' },
  ...{ lifetime: 'user', grace: '1h', shell: '/bin/bash', mounts: [{ source: '$HOME' }] },
};

function othersBetween(from: number, to: number): ReturnType<typeof crowdUser>[] {
  return Array.from({ length: to - from }, (_, index) =>
    crowdUser(realUsers + ((from + index) % (users - realUsers))),
  );
}

/** Gives the first users of the crowd the key of the host's user. */
async function authorize(host: SshHost): Promise<void> {
  for (let index = 0; index < realUsers; index += 1) {
    const { name } = crowdUser(index);
    await copyFile(host.key(user), host.key(name));
    const keys = '/etc/ssh/authorized_keys';
    await host.asRoot(['cp', `${keys}/${user}`, `${keys}/${name}`]);
  }
}

async function openSessions(host: SshHost): Promise<LiveSession[]> {
  const all = Array.from({ length: sessionsEach * realUsers }, (_, index) => index % realUsers);
  return mapConcurrent(all, 4, (index) =>
    LiveSession.startReady(host, crowdUser(index).name, 'exec cat'),
  );
}

function reap(host: SshHost): Parameters<typeof measure>[0] {
  const [file = '', ...args] = host.entered([join(installDirectory, 'berth'), 'reap']);
  return { file, args, env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' } };
}

function recordRun(record: RecordFigure, { wall, rss }: Sample, what: string, count: number): void {
  const size = { count, of: 'sessions' };
  record({ what, size, value: wall / 1000, unit: 's', wanted: { atMost: 5 } });
  record({ what: `memory of ${what}`, size, value: rss / 1024, unit: 'MiB' });
}

async function reapKilled(
  on: {
    readonly host: SshHost;
    readonly sessions: readonly LiveSession[];
    readonly others: readonly StandInConnections[];
  },
  record: RecordFigure,
): Promise<void> {
  const { host, sessions, others } = on;
  const killed: string[] = [];
  for (let index = 0; index < realUsers; index += 1) {
    const { uid } = crowdUser(index);
    const open = readdirSync(host.path(`${connections}/${uid}`));
    killed.push(...open.slice(1).map((id) => `${uid}/${id}`));
  }
  const pids = killed.map((path) => String(parseConnectionId(path.split('/')[1] ?? '')?.pid));
  const { stderr } = await host.asRoot(['kill', '-KILL', ...pids]);
  if (stderr !== '') throw new Error(stderr);
  const cleanup = await measure(reap(host));
  const count = sessionCounts.at(-1) ?? 0;
  recordRun(record, cleanup, `a run after ${killed.length} were killed`, count);
  const isThere = (path: string): boolean => existsSync(host.path(`${connections}/${path}`));
  const left = killed.filter((path) => isThere(path) || isThere(`${path}.closing`));
  record({ what: 'of these not cleaned up', value: left.length, unit: '', wanted: { atMost: 0 } });
  const lost = [
    ...others.flatMap(({ records }) => records.filter((path) => !isThere(path))),
    ...others.flatMap(({ pids }) => pids.filter((pid) => !existsSync(host.path(`/proc/${pid}`)))),
  ];
  let answers = 0;
  for (const session of sessions.filter(({ client }) => client.exitCode === null)) {
    session.client.stdin?.write('still there\n');
    await session.waitForOutput('still there').then(
      () => (answers += 1),
      () => undefined,
    );
  }
  const ended = lost.length + realUsers - answers;
  record({ what: 'sessions of others that ended', value: ended, unit: '', wanted: { atMost: 0 } });
}
