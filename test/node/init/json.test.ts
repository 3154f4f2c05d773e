import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { InitHost } from '../../rig/login-node/init-host.ts';

interface SetupDocument {
  readonly steps: readonly {
    readonly file?: string;
    readonly command?: readonly string[];
    readonly result: string;
    readonly change?: string;
    readonly patch?: string;
    readonly kept?: string;
    readonly lint?: unknown;
  }[];
  readonly doctor?: { readonly checks: readonly { readonly id: string }[] };
  readonly next: readonly string[];
}

let host: InitHost;
let words: string;
beforeAll(async () => {
  host = await InitHost.start();
  words = `login-node --image localhost/berth-site:1 --user alice --port ${host.port} --pull no --start no`;
});
afterAll(() => host.stop());

const init = async (more: string, given = words) => {
  const { exitCode, stdout, stderr } = await host.init(`${given} ${more} -o json`);
  return { exitCode, stderr, document: berthDocument(stdout) as SetupDocument };
};
const results = ({ steps }: SetupDocument): Readonly<Record<string, string>> =>
  Object.fromEntries(
    steps.map(({ file, command, result }) => [file ?? command?.[0] ?? '', result]),
  );

describe('berth init login-node -o json', () => {
  it('is one document of what would be done in a dry run', async () => {
    const { exitCode, stderr, document } = await init('--yes --dry-run');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(document).toMatchObject({ apiVersion: 'berth/v1', kind: 'Setup', dryRun: true });
    expect(new Set(document.steps.map(({ result }) => result))).toEqual(new Set(['planned']));
    const profile = document.steps.find(({ file }) => file?.endsWith('minimal.yml'));
    expect(profile).toMatchObject({ file: '/etc/berth/profiles/minimal.yml', change: 'new' });
    expect(profile?.patch).toContain('+image: localhost/berth-site:1');
    expect(document).not.toHaveProperty('doctor');
  });

  it('says what was done before a step failed, with the error beside it', async () => {
    // No registry listens there.
    const pulls = words.replace('--pull no', '--pull yes').replace('localhost/', '127.0.0.1:1/');
    const { exitCode, stderr, document } = await init('--yes', pulls);
    expect(exitCode).not.toBe(0);
    // Between what the programs print.
    const errors = stderr
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { code: string });
    expect(errors.map(({ code }) => code)).toEqual(['init-step-failed']);
    expect(document.steps.find(({ command }) => command?.[2] === 'pull')?.result).toBe('failed');
    expect(results(document)).toMatchObject({
      '/etc/berth/ssh.yml': 'done',
      '/etc/ssh/berth/login.conf': 'planned',
      usermod: 'planned',
    });
  });

  it('refuses a port that is taken, and accounts of the system, before anything is changed', async () => {
    const on = (port: number): string => words.replace(/--port \d+/, `--port ${port}`);
    const taken = await host.init(`${on(host.host.port)} --yes --dry-run`);
    expect(taken.stderr).toContain('[port-taken]');
    const root = await host.init(`${words.replace('alice', 'root')} --yes --dry-run`);
    expect(root.stderr).toContain('root is a system account (its UID is below 1000)');
    expect([taken.exitCode, root.exitCode]).toEqual([78, 77]);
  });

  it('has the former files, the findings of the linter and of doctor, and what comes next', async () => {
    const { exitCode, stderr, document } = await init('--yes');
    expect(exitCode, stderr).toBe(0);
    expect(results(document)).toMatchObject({ '/etc/berth/ssh.yml': 'unchanged', usermod: 'done' });
    const kind = document.steps.find(({ file }) => file === '/etc/ssh/berth/login.conf');
    expect(kind).toMatchObject({ result: 'done', lint: { host: [{ code: 'port-unprivileged' }] } });
    expect(document.doctor?.checks.length).toBeGreaterThan(3);
    expect(document.next).toContain(`try it: ssh -p ${host.port} alice@THIS-HOST`);

    await host.shell("echo '# mine' >>/etc/berth/ssh.yml");
    expect(results((await init('--yes')).document)).toMatchObject({
      '/etc/berth/ssh.yml': 'left',
      '/etc/pam.d/sshd': 'unchanged',
    });
  });

  it('asks on standard error', async () => {
    const terminal = host.openInit('login-node', '-o', 'json', '--dry-run');
    await terminal.waitForText(/Image of the sessions/);
    terminal.type('\u0003');
    expect(await terminal.waitForExit()).toBe(75);
    expect(terminal.text).toContain('"kind":"Error","code":"init-cancelled"');
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
