import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

const user = 'apart-ann';
const berth = `${installDirectory}/berth`;
/** What root runs as the user: podman, the removal of notes in the home, the question to Slurm; and the session of doctor. */
const programs = ['/usr/bin/prlimit', '/usr/bin/rm', '/usr/bin/sbatch', '/usr/bin/crun'];
const canary = 'ROOTS_OWN=canary';

interface Seen {
  readonly program: string;
  readonly pid: number;
  readonly session: number;
  readonly terminal: number;
  readonly descriptors: readonly string[];
  readonly groups: string;
  readonly environment: readonly string[];
}

describe('a process that root starts as a user', () => {
  let host: SshHost;

  beforeAll(async () => {
    const slurm = { image: 'localhost/berth-site:1', backend: 'slurm', pull: 'never' };
    host = await SshHost.start({
      ...{ mode: 'forced', users: { [user]: [] } },
      sshYml: { rules: [{ profile: 'job', on_request: true }, { profile: 'base' }] },
      profiles: { base: sharedProfile, job: slurm },
    });
    const isFirst = 'grep -q 4294967295 /proc/self/uid_map';
    // Each notes what /proc says of it, and becomes the real program.
    for (const path of programs) {
      const name = path.replace(/.*\//, '');
      const note = `{ cat /proc/$$/stat; grep ^Groups: /proc/$$/status; for fd in /proc/$$/fd/*; do echo fd $(readlink $fd); done; tr '\\0' '\\n' </proc/$$/environ; }`;
      const text = `#!/bin/sh\n{ [ "$(id -u)" = 0 ] && ${isFirst}; } || ${note} >/run/seen/${name}.$$\nexec /run/real/${name} "$@"\n`;
      const put = `mkdir -p /run/real /run/seen && chmod 1777 /run/seen && cp ${path} /run/real/ &&
        cat >/run/${name} && chmod 755 /run/${name} && mount --bind /run/${name} ${path}`;
      const { exitCode, stderr } = await host.asRoot(['sh', '-c', put], { input: text });
      expect(exitCode, stderr).toBe(0);
    }
  });
  afterAll(() => host.stop());

  /** Runs a command as an admin who types it, and returns what was seen of processes of the user meanwhile. */
  const typed = async (command: string): Promise<readonly Seen[]> => {
    const line = `exec 7</etc/shadow; ${canary} ${command}`;
    await host.asRoot(
      ['sh', '-c', `rm -f /run/seen/*; script -qec '${line}' /dev/null </dev/null`],
      {
        timeout: 120_000,
      },
    );
    return seen();
  };
  const seen = async (): Promise<readonly Seen[]> => {
    const { stdout } = await host.asRoot(['sh', '-c', 'cd /run/seen && grep -H "" *']);
    const byFile = Map.groupBy(stdout.toString().trim().split('\n'), (line) => line.split(':')[0]);
    return [...byFile].map(([file = '', lines]) => {
      const [stat = '', ...rest] = lines.map((line) => line.slice(file.length + 1));
      const [, , , , , session, terminal] = stat.split(' ');
      const of = (start: string) => rest.filter((line) => line.startsWith(start));
      return {
        program: file.replace(/\..*/, ''),
        pid: Number(stat.split(' ')[0]),
        ...{ session: Number(session), terminal: Number(terminal) },
        descriptors: of('fd ').map((line) => line.slice(3)),
        groups: of('Groups:').join().replace(/\s+/g, ' ').trim(),
        environment: rest.filter((line) => /^\w+=/.test(line)),
      };
    });
  };
  const isApart = (found: readonly Seen[], wanted: readonly string[]): void => {
    const named = found.filter(({ program }) => wanted.includes(program));
    expect([...new Set(named.map(({ program }) => program))].sort()).toEqual(wanted);
    for (const { program, pid, session, terminal, ...one } of named) {
      expect({ program, session, terminal }).toEqual({ program, session: pid, terminal: 0 });
      expect(one.groups).toBe('Groups:');
      // The last is the script that notes it.
      const own = /^(?:pipe|socket):|^\/dev\/null$|^\/(?:usr\/bin|run)\/\w+$|^\/run\/seen\/|^$/;
      expect(one.descriptors.filter((name) => !own.test(name))).toEqual([]);
      expect(one.environment).not.toContain(canary);
    }
  };

  it('has its own session, no terminal, no groups and nothing of root, where an admin types `berth reap`', async () => {
    const session = await LiveSession.startReady(host, user, 'exec sleep 1000');
    const [id = ''] = (
      await host.asRoot(['ls', `/run/berth/connections/${host.account(user).uid}`])
    ).stdout
      .toString()
      .split('\n');
    await host.asRoot(['kill', '-KILL', id.replace(/\..*/, '')]);
    const found = await typed(`${berth} reap`);
    await session.kill();
    isApart(found, ['prlimit', 'rm']);
  });

  it('… where a connection closes', async () => {
    const session = await LiveSession.startReady(host, user, 'exec sleep 1000');
    await host.asRoot(['sh', '-c', 'rm -f /run/seen/*']);
    await session.kill();
    await expect
      .poll(async () => (await host.log()).includes('msg="session closed"'), { timeout: 60_000 })
      .toBe(true);
    isApart(await seen(), ['prlimit', 'rm']);
  });

  it('… where an admin types `berth doctor`', async () => {
    const found = await typed(`${berth} doctor --user ${user} --start-session`);
    isApart(found, ['sbatch']);
    const sessions = found.filter(({ program }) => program === 'crun');
    expect(sessions.length).toBeGreaterThan(0);
    for (const { terminal, environment } of sessions) {
      expect(terminal).toBe(0);
      expect(environment).not.toContain(canary);
    }
  });
});
