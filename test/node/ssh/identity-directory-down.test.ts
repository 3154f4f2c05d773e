import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';
import { nslcdTimeouts } from '../../rig/login-node/ldap-directory.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';

const directory = {
  groups: { 'site-staff': 61000, project: 61001 },
  users: { lena: { uid: 60001, groups: ['site-staff', 'project'] as const } },
} as const;

/** Time for several lookups in sequence, each of which waits for slapd. */
const boundMs = 15_000 + 4 * nslcdTimeouts * 1000;

describe('given a directory service that does not answer, sessions', () => {
  let host: SshHost;
  let live: LiveSession;
  let master: string;

  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'forced', users: { 'directory-local': ['physics'] }, ldap: directory },
      profiles: { base: { ...standardProfile, lifetime: 'user', grace: '60s' } },
      // Rules with groups need their names.
      sshYml: { rules: [{ groups: ['project', 'physics'], profile: 'base' }] },
    });
    const { exitCode, stderr } = await host.asRoot([
      ...[
        `${installDirectory}/berth`,
        'subid',
        'apply',
        '--base',
        '524288',
        'lena',
        'directory-local',
      ],
    ]);
    if (exitCode !== 0) throw new Error(stderr);
    master = join(host.directory, 'master');
    live = LiveSession.start(host, 'lena', [
      ...['-o', 'ControlMaster=yes', '-o', `ControlPath=${master}`],
      'echo ready; cat',
    ]);
    await live.waitForOutput('ready');
    expect((await host.ssh('directory-local', ['id -un'])).stdout.toString()).toBe(
      'directory-local\n',
    );
  });
  afterAll(() => host.stop());

  it.each(['KILL', 'STOP'] as const)('after %s of slapd: nothing hangs', async (signal) => {
    await host.ldap.signal(signal, 'slapd');
    try {
      const outcome = async (user: string, ...options: string[]) => {
        const start = performance.now();
        const { exitCode, stdout, stderr } = await host.ssh(user, [...options, 'id -un'], {
          timeout: boundMs + 5_000,
        });
        expect(performance.now() - start).toBeLessThan(boundMs);
        return { exitCode, said: `${stdout.toString()}${stderr}` };
      };
      // sshd itself does not find the user.
      expect(await outcome('lena')).toMatchObject({
        exitCode: 255,
        said: expect.stringContaining('Permission denied (publickey)') as string,
      });
      expect(await outcome('directory-local')).toEqual({
        ...{ exitCode: 0, said: 'directory-local\n' },
      });
      // Another session of an open connection: sshd accepts it, and Berth reports the error.
      expect(await outcome('lena', '-S', master)).toMatchObject({
        exitCode: 255,
        said: expect.stringMatching(
          /^login: NSS has no account for UID 60001 \[nss-failed, session /,
        ) as string,
      });
      live.client.stdin?.write(`still here, ${signal}\n`);
      await live.waitForOutput(`still here, ${signal}`);
    } finally {
      if (signal === 'KILL') await host.ldap.startSlapd();
      else await host.ldap.signal('CONT', 'slapd');
    }
    await expect
      .poll(async () => (await host.ssh('lena', ['id -un'])).stdout.toString(), {
        ...{ timeout: 60_000, interval: 500 },
      })
      .toBe('lena\n');
  });
});
