import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CheckResult } from '../../../src/system/errors/check-result.ts';
import { berthDocument } from '../../rig/berth-document.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';

const berth = join(installDirectory, 'berth');
let host: SshHost;
let uid: number;

beforeAll(async () => {
  host = await SshHost.start({
    ...{ mode: 'forced', users: { ada: [] } },
    sshYml: { rules: [{ profile: 'base' }, { profile: 'asked', on_request: true }] },
    profiles: {
      ...{ base: standardProfile, asked: standardProfile },
      broken: { ...standardProfile, image: 'localhost/absent:1' },
    },
  });
  ({ uid } = host.account('ada'));
});
afterAll(() => host.stop());

const shell = async (script: string): Promise<string> =>
  (await host.asRoot(['bash', '-c', script])).stdout.toString();

/** The check `session-start`. */
async function sessionStart(...more: readonly string[]): Promise<CheckResult | undefined> {
  return (await doctor(...more)).find(({ id }) => id === 'session-start');
}

async function doctor(...more: readonly string[]): Promise<readonly CheckResult[]> {
  const words = [berth, 'doctor', '--user', 'ada', '--start-session', '-o', 'json', ...more];
  const { stdout, stderr } = await host.asRoot(words, { timeout: 120_000 });
  if (stdout.length === 0) throw new Error(stderr);
  return (berthDocument(stdout.toString()) as { checks: readonly CheckResult[] }).checks;
}

/** Containers, connections, mounts, notes and processes of ada. */
const left = (): Promise<string> =>
  shell(`find /var/lib/berth-ssh/users/${uid}/storage/overlay-containers -mindepth 1 -type d
    find /run/berth/connections/${uid} /run/berth/users -mindepth 1
    pgrep -u ada -l; findmnt -rn | grep users/${uid}`);

describe('berth doctor --user USER --start-session', () => {
  it('starts a session as a login does, and leaves nothing', async () => {
    expect(await sessionStart()).toMatchObject({
      status: 'ok',
      message: expect.stringMatching(
        /^a test session of ada with profile base took [0-9.]+ s$/,
      ) as string,
    });
    expect(await left()).toBe('');
  });

  it('starts one with the profile that the user would ask for, and checks no other', async () => {
    const checks = await doctor('--profile', 'asked');
    expect(checks.find(({ id }) => id === 'session-start')?.message).toMatch(
      /^a test session of ada with profile asked took /,
    );
    expect(checks.filter(({ id }) => id === 'image')).toMatchObject([{ status: 'ok' }]);
    expect((await doctor()).find(({ message }) => message.includes('absent'))).toMatchObject({
      ...{ id: 'image', status: 'failed' },
    });
    expect(await left()).toBe('');
  });

  it('does not disturb a session of the user', async () => {
    const session = host.ssh('ada', ['sleep 8; echo still here']);
    await shell('for i in {1..100}; do pgrep -u ada sleep && exit; sleep 0.1; done');
    expect(await sessionStart()).toMatchObject({ status: 'ok' });
    expect((await session).stdout.toString()).toBe('still here\n');
  });

  it.each([
    [
      'where the kernel refuses to mount /proc, although podman itself works',
      'mount --bind /dev/null /proc/uptime',
      'umount /proc/uptime',
      /^the test session of ada failed: .*proc.*Operation not permitted/,
    ],
    [
      'without subordinate IDs',
      'cp -p /etc/subuid /run/subuid; sed -i /^ada:/d /etc/subuid',
      'cat /run/subuid >/etc/subuid',
      /^the test session of ada failed: .*\[subordinate-ids-missing\]/,
    ],
    [
      'without the image',
      'sed -i s/berth-site:1/berth-missing:1/ /etc/berth/profiles/base.yml',
      'sed -i s/berth-missing:1/berth-site:1/ /etc/berth/profiles/base.yml',
      /^the test session of ada failed: .*\[image-missing\]/,
    ],
  ])('says what podman answered on a host %s', async (_where, spoil, mend, message) => {
    await shell(spoil);
    try {
      const found = await sessionStart();
      expect(found?.status).toBe('failed');
      expect(found?.message).toMatch(message);
      expect(found?.next).toMatch(/\w/);
      expect(await left()).toBe('');
    } finally {
      await shell(mend);
    }
  });

  it('knows no cluster on a host without any', async () => {
    const { exitCode, stderr } = await host.asRoot([berth, 'doctor', '--cluster', 'nosuch']);
    expect(exitCode).toBe(64);
    expect(stderr).toContain('unknown cluster nosuch; configured: none [cluster-unknown]');
  });

  it('needs an account, and root', async () => {
    const without = await host.asRoot([berth, 'doctor', '--start-session']);
    expect(without.stderr).toContain('--start-session needs --user [usage]');
    const words = [berth, 'doctor', '--user', 'ada', '--start-session'];
    const asUser = await host.asUser('ada', words);
    expect(asUser.stderr).toContain('[not-root]');
    expect([without.exitCode, asUser.exitCode]).toEqual([64, 77]);
  });
});
