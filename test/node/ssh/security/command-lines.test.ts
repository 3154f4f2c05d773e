import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshHost, standardProfile } from '../../../rig/login-node/ssh-host.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';

describe('the value of a variable', () => {
  let host: SshHost;
  const value = 'for-nobody-else-5b1f';

  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'forced', users: { ada: [] } },
      profiles: {
        base: { ...standardProfile, environment: { set: { SITE_VALUE: value } } },
      },
    });
  });
  afterAll(() => host.stop());

  it.each([
    ['without a terminal', []],
    ['with a terminal', ['-tt']],
  ])('is on no command line, %s, and in no file that others can read', async (_, options) => {
    const session = LiveSession.start(host, 'ada', [...options, 'echo "<$SITE_VALUE>"; cat']);
    await session.waitForOutput(`<${value}>`);
    const directory = `/run/user/${host.account('ada').uid}/berth`;
    const { stdout } = await host.asRoot(['sh', '-c', 'cat /proc/[0-9]*/cmdline']);
    expect(stdout.toString()).not.toContain(value);
    // The process that got the environment from the file is running, so the test is meaningful.
    expect(stdout.toString()).toContain(`${directory}/exec-`);
    const modes = await host.asRoot(['sh', '-c', `stat -c %a ${directory} ${directory}/exec-*`]);
    expect(modes.stdout.toString()).toBe('700\n600\n');
    await session.kill();
    await expect
      .poll(async () => (await readdir(host.path(directory))).join())
      .not.toContain('exec-');
  });
});
