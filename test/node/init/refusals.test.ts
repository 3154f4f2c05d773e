import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InitHost } from '../../rig/login-node/init-host.ts';

let host: InitHost;
let words: string;
beforeAll(async () => {
  host = await InitHost.start();
  words = `login-node --image localhost/berth-site:1 --user alice --port ${host.port} --pull no --start no`;
});
afterAll(() => host.stop());

describe('berth init login-node', () => {
  it('refuses a port that is taken, and accounts of the system, before anything is changed', async () => {
    const on = (port: number): string => words.replace(/--port \d+/, `--port ${port}`);
    const taken = await host.init(`${on(host.host.port)} --yes --dry-run`);
    expect(taken.stderr).toContain('[port-taken]');
    const root = await host.init(`${words.replace('alice', 'root')} --yes --dry-run`);
    expect(root.stderr).toContain('root is a system account (its UID is below 1000)');
    expect([taken.exitCode, root.exitCode]).toEqual([78, 77]);
  });
});

describe('berth init cluster', () => {
  const refused = async (cluster: string, user: string) => {
    const kubeconfig = {
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1', ...parsed(cluster) } }],
      users: [{ name: 'u', user: { token: 't', ...parsed(user) } }],
      contexts: [{ name: 'admin', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'admin',
    };
    await host.shell(
      `umask 077; echo '${JSON.stringify(kubeconfig)}' >/root/field; mkdir -p /etc/ood/config; : >/etc/ood/config/hook.env`,
    );
    const words = 'cluster --name prod --kubeconfig /root/field --apply no';
    const { exitCode, stdout, stderr } = await host.init(`${words} --yes --dry-run`);
    return { exitCode, stdout, stderr };
  };
  const parsed = (field: string): object => JSON.parse(`{${field}}`) as object;

  it('needs nothing that the kubeconfig of a user would lack', async () => {
    const { exitCode, stdout, stderr } = await refused('', '');
    expect([exitCode, stderr]).toEqual([0, 'dry run: nothing was changed\n']);
    expect(stdout).toContain('endpoint: https://127.0.0.1:1');
  });

  it.each([
    ['"tls-server-name":"k8api.internal"', '', 'tls-server-name: k8api.internal'],
    ['"proxy-url":"http://me:secret@proxy:3128"', '', 'proxy-url: http://proxy:3128'],
    ['"insecure-skip-tls-verify":true', '', 'insecure-skip-tls-verify'],
    ['', '"as":"somebody"', 'users[].user.as cannot be used'],
    ['', '"as-groups":["system:masters"]', 'users[].user.as-groups cannot be used'],
  ])('refuses by name what it would not carry on: %s%s', async (cluster, user, named) => {
    const { exitCode, stdout, stderr } = await refused(cluster, user);
    expect([exitCode, stdout]).toEqual([78, '']);
    expect(stderr).toContain(named);
    expect(stderr).toContain('[admin-kubeconfig-unsupported]');
    expect(stderr).not.toContain('secret');
  });
});
