import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshHost, standardSshYml } from '../../../rig/login-node/ssh-host.ts';
import { findLeftovers, noLeftovers } from '../../../rig/login-node/leftovers.ts';

/**
 * A podman that first does what another session of the same user could do at any time. Otherwise the test could not hit
 * the moment in which it matters.
 */
const podman = `#!/bin/sh
case " $* " in *' run '*) if [ -e "/home-of-test/swap" ]; then sh /home-of-test/swap; fi ;; esac
exec /usr/bin/podman "$@"
`;

describe('a directory that a profile mounts and the user can replace', () => {
  let host: SshHost;

  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'login-shell', users: { ada: [] } },
      sshYml: { podman: { ...standardSshYml.podman, podman: '/usr/local/sbin/berth-test-podman' } },
      profiles: {
        base: {
          ...{ image: 'localhost/berth-site:1', pull: 'never', network: 'host' },
          lifetime: 'connection',
          mounts: [{ source: '$HOME' }, { source: '$HOME/shared', target: '/shared' }],
        },
      },
    });
    const { home } = host.account('ada');
    const script = podman.replaceAll('/home-of-test', home);
    const path = '/usr/local/sbin/berth-test-podman';
    await host.asRoot(['mount', '-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs', '/usr/local/sbin']);
    await host.asRoot(['sh', '-c', `cat >${path} && chmod 0755 ${path}`], { input: script });
    await host.asUser('ada', [
      'sh',
      '-c',
      'mkdir data && echo mine >data/file && ln -s data shared',
    ]);
  });
  afterAll(() => host.stop());

  const swap = (to: string): Promise<unknown> =>
    host.asUser('ada', ['sh', '-c', 'cat >swap'], {
      input: `ln -sfn ${to} ${host.account('ada').home}/shared\n`,
    });

  it('is mounted', async () => {
    const { stdout, stderr } = await host.ssh('ada', ['cat /shared/file']);
    expect(stdout.toString(), stderr).toBe('mine\n');
  });

  it.each(['/run/user/$(id -u)', '/var/lib/berth-ssh/users/$(id -u)', '/etc'])(
    'gives no session with %s, even if it leads there only when podman mounts it',
    async (to) => {
      await swap(to);
      const { stdout, stderr, exitCode } = await host.ssh('ada', [
        'ls -a /shared; touch /shared/x',
      ]);
      expect([stdout.toString(), exitCode]).toEqual(['', 255]);
      expect(stderr).toMatch(
        /the directory for \/shared .* was replaced while your session started.*\[session-mount-changed, session \S+\]\. Connect again/,
      );
      await host.asUser('ada', ['sh', '-c', 'rm swap; ln -sfn data shared']);
      await expect.poll(() => findLeftovers(host, 'ada')).toEqual(noLeftovers);
    },
  );
});
