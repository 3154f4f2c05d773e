import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { waitFor } from '../../../rig/site/wait.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

describe('a session in a pod', () => {
  let site: Site;
  let pods: PodHost;
  beforeAll(async () => {
    site = await openSite();
    pods = await startPodHost(site, { mode: 'forced', users: { 'pod-ada': ['tty'] } });
  }, 600_000);
  afterAll(() => pods.stop());

  const ssh = (...words: string[]) => pods.host.ssh('pod-ada', words);
  const podNames = async (): Promise<string> => {
    const { stdout } = await site.kubectl(['-n', 'u-pod-ada', 'get', 'pods', '-o', 'name']);
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

  it('leaves nothing on the cluster when its connection has ended, and no valid token', async () => {
    expect((await ssh('true')).exitCode).toBe(0);
    await waitFor({ what: 'the pod to go', timeoutMs: 20_000 }, async () =>
      (await podNames()) === '' ? true : undefined,
    );
    const secret = ['-n', 'u-pod-ada', 'get', 'secret', 'berth-session'];
    await waitFor({ what: 'the secret to go', timeoutMs: 20_000 }, async () =>
      (await site.kubectl(secret)).exitCode === 0 ? undefined : true,
    );
  });
});
