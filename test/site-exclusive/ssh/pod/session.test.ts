import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { installDirectory } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

describe('a session in a pod', () => {
  let site: Site;
  let pods: PodHost;
  beforeAll(async () => {
    site = await openSite();
    pods = await startPodHost(site, {
      ...{
        mode: 'forced',
        users: { 'pod-ada': ['tty'], 'pod-bob': [], 'pod-bea': [], 'pod-cid': [] },
      },
      berth: { defaults: { resource_quota: { hard: { pods: '7' } } } },
      sshYml: {
        rules: [
          { users: ['pod-bea'], profile: 'limited' },
          { users: ['pod-cid'], profile: 'aged' },
          { profile: 'base' },
        ],
      },
      profiles: {
        limited: { lifetime: 'user', grace: '10m', timeouts: { idle: '4s', hard: '35s' } },
        aged: { lifetime: 'user', grace: '10m', timeouts: { soft: '1s' } },
      },
    });
  }, 600_000);
  afterAll(() => pods.stop());

  const ssh = (...words: string[]) => pods.host.ssh('pod-ada', words);
  const podNames = async (user = 'pod-ada'): Promise<string> => {
    const { stdout } = await site.kubectl(['-n', `u-${user}`, 'get', 'pods', '-o', 'name']);
    return stdout;
  };

  it('runs as the user: UID, GID and groups, home and names', async () => {
    const { uid, gid } = pods.host.account('pod-ada');
    const { stdout, stderr } = await ssh(
      'id -u; id -g; id -G; id -un; echo $HOME; pwd; touch mine',
    );
    expect(stderr).toBe('');
    const [id, group, groups, name, home, where] = stdout.toString().split('\n');
    expect([id, group, name]).toEqual([String(uid), String(gid), 'pod-ada']);
    expect(groups?.split(' ').sort()).toEqual([String(gid), '5'].sort());
    expect([home, where]).toEqual([pods.host.account('pod-ada').home, home]);
    const { stdout: owner } = await pods.host.asUser('pod-ada', ['stat', '-c', '%u:%g', 'mine']);
    expect(owner.toString().trim()).toBe(`${uid}:${gid}`);
  });

  it('is listed and ended by the login, with the quota, for its user only', async () => {
    const session = await LiveSession.startReady(pods.host, 'pod-ada', 'cat');
    // That of the connection before may still end.
    const pod = await waitFor({ what: 'the pod in the list', timeoutMs: 60_000 }, async () => {
      const { exitCode, stdout, stderr } = await ssh('berth sessions');
      expect([exitCode, stderr]).toEqual([0, '']);
      const row = /^NAME .*\n(\S+) +base +pod prod +running +\d+s +1 +with its connection\n$/;
      return row.exec(stdout.toString())?.[1];
    });
    await waitFor({ what: 'the quota to count the pod', timeoutMs: 60_000 }, async () => {
      const { stdout } = await ssh('berth status');
      return /^CLUSTER .*\nprod +u-pod-ada +pods +1 +7\n$/.test(stdout.toString()) || undefined;
    });
    const name = `pod/prod/${pod}`;
    expect(await pods.host.ssh('pod-bob', [`berth end ${name}`])).toMatchObject({ exitCode: 69 });
    const ended = await ssh(`berth end ${name}`);
    expect([ended.stdout.toString(), ended.stderr]).toEqual([`ended ${name}\n`, '']);
    expect(await session.exitCode()).not.toBe(0);
    expect(session.output).toContain('was deleted while it ran');
    expect(await podNames()).toBe('');
  });

  it('is reported in a sentence by the login, if the cluster or a right is missing', async () => {
    const role = ['clusterrole', 'berth-session'];
    const remove = '[{"op":"remove","path":"/rules/3"}]';
    await site.kubectl(['patch', ...role, '--type=json', '-p', remove]);
    try {
      const forbidden = await ssh('berth status');
      expect([forbidden.exitCode, forbidden.stderr]).toEqual([
        77,
        expect.stringMatching(
          /^berth: cluster prod: reading your quota: .* \[api-forbidden\]\nnext: Please send this line/,
        ),
      ]);
    } finally {
      await site.kubectl(['apply', '-k', 'etc/kubernetes/ssh-sessions']);
    }

    // A second session of a connection gets no other grant.
    const shared = ['-o', `ControlPath=${pods.host.directory}/shared`];
    const first = LiveSession.start(pods.host, 'pod-ada', [...shared, '-M', 'echo ready; cat']);
    await first.waitForOutput('ready');
    const grant = `/run/user/${pods.host.account('pod-ada').uid}/berth-pods/prod.json`;
    const nowhere = 's#"url":"[^"]*"#"url":"https://127.0.0.1:9"#';
    await pods.host.asUser('pod-ada', ['sed', '-i', nowhere, grant]);
    const { exitCode, stdout, stderr } = await ssh(...shared, 'berth sessions');
    await first.kill();
    expect([exitCode, stdout.toString(), stderr]).toEqual([
      ...[75, ''],
      expect.stringMatching(/^berth: cluster prod: .* \[api-unreachable\]\nnext: /),
    ]);
  });

  it('is told of its end, ends when it is idle, and at the time limit of its pod', async () => {
    const reap = () => pods.host.asRoot([`${installDirectory}/berth`, 'reap']);
    const terminal = LiveSession.start(pods.host, 'pod-bea', ['-tt', 'echo ready; cat']);
    await terminal.waitForOutput('ready');
    // The login asks the cluster for the end beside the session.
    await waitFor({ what: 'the warning', timeoutMs: 60_000, everyMs: 500 }, async () => {
      await reap();
      return terminal.output.includes('Save your work. ***') ? true : undefined;
    });
    expect(terminal.output).toContain('*** The lifetime of your pod berth-limited is nearly over');
    const busy = await LiveSession.startReady(
      pods.host,
      'pod-bea',
      'while sleep 1; do echo .; done',
    );
    await reap();
    await sleep(5_000);
    await reap();
    expect(terminal.client.exitCode).toBeNull();
    expect(await busy.exitCode()).toBe(255);
    expect(busy.output).toMatch(/the pod of your session was ended at its time limit while it ran/);
    expect(await terminal.exitCode()).toBe(255);
    const idle = await LiveSession.startReady(pods.host, 'pod-bea', 'cat');
    await reap();
    await sleep(5_000);
    expect((await reap()).stderr).toMatch(/session ended at its limit.* limit=idle/);
    expect(await idle.outputAtEnd()).toMatch(
      /^\*\*\* Nothing was typed or shown on your connections to pod berth-limited for /m,
    );
    expect(await idle.exitCode()).toBe(255);
  });

  it('ends with its last connection, without its grace, from the age of timeouts.soft on', async () => {
    const first = await LiveSession.startReady(pods.host, 'pod-cid', 'sleep 1; echo older; cat');
    await first.waitForOutput('older');
    const second = await LiveSession.startReady(pods.host, 'pod-cid', 'cat');
    await first.kill();
    second.client.stdin?.end('still here\n');
    expect(await second.outputAtEnd()).toContain('still here\n');
    await waitFor({ what: 'the pod to go', timeoutMs: 60_000 }, async () =>
      (await podNames('pod-cid')) === '' ? true : undefined,
    );
  });

  it('leaves nothing on the cluster when its connection has ended, and no valid token', async () => {
    expect((await ssh('true')).exitCode).toBe(0);
    await waitFor({ what: 'the pod to go', timeoutMs: 60_000 }, async () =>
      (await podNames()) === '' ? true : undefined,
    );
    const secret = ['-n', 'u-pod-ada', 'get', 'secret', 'berth-session'];
    await waitFor({ what: 'the secret to go', timeoutMs: 60_000 }, async () =>
      (await site.kubectl(secret)).exitCode === 0 ? undefined : true,
    );
  });
});
