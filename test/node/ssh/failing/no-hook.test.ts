import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { refusedLogin, runAsRoot } from '../../../rig/login-node/refused-login.ts';

/** The PAM hook creates both directories at each login. */
describe('given a host whose PAM stack does not run the hook, a session', () => {
  let host: SshHost;
  beforeAll(async () => {
    host = await SshHost.start({ mode: 'login-shell', users: { ada: [], bob: [] }, pam: '' });
  });
  afterAll(() => host.stop());

  it('fails without a storage directory', async () => {
    const { code, line } = await refusedLogin(host, 'ada');
    expect(code).toBe('session-directory-missing');
    expect(line).toContain('/var/lib/berth-ssh/users/');
  });

  it('fails without a runtime directory', async () => {
    await runAsRoot(host, `rmdir /run/user/${host.account('bob').uid}`);
    expect((await refusedLogin(host, 'bob')).code).toBe('runtime-directory-missing');
  });

  it('fails if others have access to the runtime directory', async () => {
    const { uid } = host.account('bob');
    await runAsRoot(host, `install -d -m 755 -o bob /run/user/${uid}`);
    expect((await refusedLogin(host, 'bob')).code).toBe('runtime-directory-missing');
  });
});
