import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { podmanCommand } from '../../../../src/sessions/backends/podman/argv/podman-argv.ts';
import { ensurePackages } from '../../../rig/site/debian-packages.ts';
import { runAsRoot } from '../../../rig/login-node/refused-login.ts';
import { SshHost, standardProfile, standardSshYml } from '../../../rig/login-node/ssh-host.ts';

/** Settings that an admin can make for all containers in containers.conf or a wrapper; others are podman's. */
const options =
  '--security-opt no-new-privileges --ulimit core=0:0 --ulimit nofile=512:1024 --oom-score-adj 300';
const podman = `#!/bin/sh
for word; do
  shift
  if [ "$word" = run ]; then set -- "$@" run ${options}; else set -- "$@" "$word"; fi
done
exec /usr/bin/podman "$@"
`;
const look = [
  ...['grep -E "^(NoNewPrivs|Cap...|Seccomp):" /proc/self/status', 'cat /proc/self/limits'],
  ...['cat /proc/self/oom_score_adj', 'id -u', 'id -g'],
].join('; ');

/** Many sites have runc; only the runtime differs. */
describe.each(['crun', 'runc'])('a session in a container of %s', (runtime) => {
  let host: SshHost;
  beforeAll(async () => {
    await ensurePackages(['runc']);
    host = await SshHost.start({
      ...{ mode: 'forced', users: { ada: [] } },
      sshYml: {
        podman: {
          ...standardSshYml.podman,
          ...{ runtime: `/usr/bin/${runtime}`, podman: '/etc/podman-of-site' },
        },
      },
      profiles: { base: { ...standardProfile, lifetime: '1h' } },
      etc: { 'podman-of-site': podman },
    });
    await runAsRoot(host, 'chmod 755 /etc/podman-of-site');
  });
  afterAll(() => host.stop());

  it('has the same limits as with `podman exec`', async () => {
    const ours = await host.ssh('ada', [look]);
    expect(ours.stderr).toBe('');
    const user = { ...host.account('ada'), groups: [], shell: '/bin/bash' };
    const call = podmanCommand(
      {
        ...{ user, runtimeDir: `/run/user/${user.uid}`, storage: '/var/lib/berth-ssh' },
        podman: {
          ...{ podman: '/usr/bin/podman', runtime: `/usr/bin/${runtime}`, init: '', nsenter: '' },
          ...{ cgroupManager: 'cgroupfs', mountProgram: '/usr/bin/fuse-overlayfs' },
        },
      },
      ['exec', '--user', `${user.uid}:${user.gid}`, 'berth-base', 'sh', '-c', look],
    );
    const env = Object.entries(call.env).map(([name, value]) => `${name}=${value}`);
    const as = ['runuser', '-u', 'ada', '--', 'env', '-C', '/', '-i', ...env];
    const theirs = await host.asRoot([...as, call.file, ...call.args.slice(1)]);
    expect(theirs.stderr).toBe('');
    const lines = comparable(theirs.stdout);
    expect(lines).toContain('NoNewPrivs:\t1');
    expect(lines).toContain('Seccomp:\t2');
    const soft = runtime === 'runc' ? 'SOFT' : '512';
    expect(lines.join('\n')).toMatch(new RegExp(`^Max open files +${soft} +1024 `, 'm'));
    expect(comparable(ours.stdout)).toEqual(lines);
  });

  /** runc 1.1 sets the soft limit of open files while Go raises it; either may be last (runc#4195). */
  function comparable(output: Buffer): string[] {
    const text = output.toString();
    const softOfRunc = /^Max open files +(?:512|1024) +(?=1024 )/m;
    return (runtime === 'runc' ? text.replace(softOfRunc, 'Max open files SOFT ') : text).split(
      '\n',
    );
  }
});
