import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { run } from '../../../../src/companions/verify/run-client.ts';
import { Terminal } from '../../../../src/companions/verify/terminal.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

const user = 'pod-groups';
const [first, second] = ['pod-project-a', 'pod-project-b'] as const;

describe('an existing pod whose user has other groups now', () => {
  let site: Site;
  let pods: PodHost;
  beforeAll(async () => {
    site = await openSite();
    pods = await startPodHost(site, {
      ...{ mode: 'forced', users: { [user]: [first, second] } },
      profile: { lifetime: 'user', grace: '1h' },
    });
  }, 600_000);
  afterAll(() => pods.stop());

  const ssh = (...words: string[]) => pods.host.ssh(user, words);
  const changeGroups = async (...groups: string[]): Promise<void> => {
    const { exitCode, stderr } = await pods.host.asRoot([
      ...['usermod', '--groups', groups.join(','), '--', user],
    ]);
    expect([exitCode, stderr]).toEqual([0, '']);
  };
  const gidOf = async (group: string): Promise<string> =>
    (await pods.host.asRoot(['getent', 'group', group])).stdout.toString().split(':')[2] ?? '';
  const groupsInside = async (): Promise<string[]> => {
    const { stdout, stderr } = await ssh('-T', 'id -G');
    expect(stderr).toBe('');
    return stdout.toString().trim().split(' ');
  };
  const podUids = async (): Promise<string> => {
    const format = '-o=jsonpath={.items[*].metadata.uid}';
    return (await site.kubectl(['-n', `u-${user}`, 'get', 'pods', format])).stdout;
  };
  /** Whose groups the login node has, and a pod that was made with them. */
  const given = async (groups: readonly string[]): Promise<string> => {
    await changeGroups(...groups);
    for (const group of groups) expect(await groupsInside()).toContain(await gidOf(group));
    return await podUids();
  };
  const onTerminal = (command: string): Terminal =>
    Terminal.open({ env: { PATH: process.env.PATH ?? '' } }, [
      ...['ssh', ...pods.host.clientOptions(user), '-tt', '-p', String(pods.host.port)],
      ...[`${user}@127.0.0.1`, command],
    ]);
  let before: string;
  beforeEach(async () => {
    before = await given([first]);
    expect(await podUids()).toBe(before);
  });

  it('is created again, with the new group, at the next login if no process is in it', async () => {
    await changeGroups(first, second);
    const input = 'typed\n'.repeat(20_000);
    const { exitCode, stdout, stderr } = await pods.host.ssh(user, ['-T', 'id -G; cat'], { input });
    const [groups = '', ...rest] = stdout.toString().split('\n');
    expect([exitCode, stderr, rest.join('\n')]).toEqual([0, '', input]);
    expect(groups.split(' ')).toContain(await gidOf(second));
    const after = await podUids();
    expect(after).not.toBe(before);
    expect(await pods.host.log()).toContain('code=pod-groups-renewed');
    // Once.
    expect(await groupsInside()).toContain(await gidOf(second));
    expect(await podUids()).toBe(after);
  });

  it('is created again without a removed group, and a terminal shows that', async () => {
    await changeGroups(second);
    const terminal = onTerminal('id -G | tr " " ,; BERTH=$BERTH_GROUPS; echo "<$BERTH>"');
    try {
      await terminal.waitForText(/your groups have changed: your session gets a new pod\r\n/);
      const [, groups = ''] = await terminal.waitForText(/([\d,]+)\r\n<>/);
      expect(groups.split(',')).not.toContain(await gidOf(first));
      expect(groups.split(',')).toContain(await gidOf(second));
      expect(await terminal.waitForExit()).toBe(0);
    } finally {
      terminal.close();
    }
    expect(await podUids()).not.toBe(before);
  });

  it('stays where somebody is in it, whom a terminal tells and no pipe', async () => {
    const other = await LiveSession.startReady(pods.host, user, 'cat');
    await changeGroups(second);
    const log = (await pods.host.log()).length;
    const { stdout, stderr, exitCode } = await ssh('-T', 'id -G');
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout.toString().trim().split(' ')).toContain(await gidOf(first));
    const said = (await pods.host.log()).slice(log);
    expect(said).toContain('code=pod-groups-outdated');
    expect(said).toContain(`missing=${await gidOf(second)} gone=${await gidOf(first)}`);
    const options = [...pods.host.clientOptions(user), '-P', String(pods.host.port)];
    const sftp = await run('sftp', ['-b', '-', ...options, `${user}@127.0.0.1`], {
      input: 'pwd\n',
    });
    expect([sftp.exitCode, sftp.stderr]).toEqual([0, '']);
    const terminal = onTerminal('echo begun');
    try {
      const [line] = await terminal.waitForText(/your groups have changed, but [^\n]*/);
      expect(line).toContain(
        `missing here: ${second}; no longer yours: ${first}; to get a new pod, end all`,
      );
      await terminal.waitForText(/begun/);
    } finally {
      terminal.close();
    }
    expect(await podUids()).toBe(before);
    other.client.stdin?.end('goes on\n');
    await other.waitForOutput('goes on');
    expect(await other.exitCode()).toBe(0);
    expect(await groupsInside()).toContain(await gidOf(second));
    expect(await podUids()).not.toBe(before);
  });

  it('stays for a connection that is older than the change', async () => {
    const master = [...pods.host.clientOptions(user), '-S', `${pods.host.directory}/master`];
    const destination = ['-p', String(pods.host.port), `${user}@127.0.0.1`];
    const opened = await run('ssh', [...master, '-MNf', ...destination]);
    expect(opened.exitCode).toBe(0);
    try {
      await changeGroups(second);
      expect(await groupsInside()).toContain(await gidOf(second));
      const renewed = await podUids();
      const old = await run('ssh', [...master, ...destination, 'id -G']);
      expect(old.stdout.toString().trim().split(' ')).toContain(await gidOf(second));
      expect(await podUids()).toBe(renewed);
    } finally {
      await run('ssh', [...master, '-O', 'exit', ...destination]);
    }
  });
});
