import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { LoginMode } from '../../../rig/login-node/sshd-config.ts';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { writeOnHost, refusedLogin } from '../../../rig/login-node/refused-login.ts';

const broken = { image: 'localhost/nowhere:1', lifetime: 'connection', agent: false };

describe.each<LoginMode>(['forced', 'login-shell'])(
  'given a container that does not start, on_failure: %s',
  (mode) => {
    let host: SshHost;
    const profile = (on_failure: object) =>
      writeOnHost(host, '/etc/berth/profiles/base.yml', { ...broken, on_failure });
    beforeAll(async () => {
      host = await SshHost.start({ mode, users: { ada: [], bob: ['wheel'] } });
    });
    beforeEach(() => profile({ action: 'refuse' }));
    afterAll(() => host.stop());

    it('refuses the session', async () => {
      expect((await refusedLogin(host, 'bob')).code).toBe('image-missing');
    });

    it('starts the fallback image, and tells only the admin', async () => {
      await profile({ action: 'fallback', image: 'localhost/berth-busybox:1' });
      const { exitCode, stdout, stderr } = await host.ssh('ada', ['readlink /bin/ls']);
      expect({ exitCode, stdout: stdout.toString(), stderr }).toEqual({
        ...{ exitCode: 0, stdout: 'busybox\n', stderr: '' },
      });
      await expect
        .poll(() => host.log())
        .toMatch(/level=error .*user=ada code=image-missing .*instead=localhost\/berth-busybox:1/);
    });

    it('refuses the session if the fallback image is missing too', async () => {
      await profile({ action: 'fallback', image: 'localhost/nowhere:2' });
      const { code, syslogLine } = await refusedLogin(host, 'ada');
      expect(code).toBe('image-missing');
      expect(syslogLine).toContain('nowhere');
    });

    it('gives a shell on the host to members of the groups only', async () => {
      await profile({ action: 'host-shell', groups: ['wheel'] });
      expect((await refusedLogin(host, 'ada')).code).toBe('image-missing');
      const { exitCode, stdout, stderr } = await host.ssh('bob', ['ls -d /etc/berth; exit 5']);
      expect({ exitCode, stdout: stdout.toString(), stderr }).toEqual({
        ...{ exitCode: 5, stdout: '/etc/berth\n', stderr: '' },
      });
      await expect
        .poll(() => host.log())
        .toMatch(/level=error .*user=bob code=image-missing .*instead="a shell on the host"/);
    });
  },
);
