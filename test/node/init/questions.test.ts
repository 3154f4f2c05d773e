import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Terminal } from '../../../src/companions/verify/terminal.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { InitHost } from '../../rig/login-node/init-host.ts';

const ctrlC = '\u0003';
const ctrlD = '\u0004';

let host: InitHost;
beforeAll(async () => {
  host = await InitHost.start();
});
afterAll(() => host.stop());

/** Waits for each question and types the answer. */
async function answer(
  terminal: Terminal,
  ...dialogue: readonly (readonly [RegExp, string])[]
): Promise<void> {
  for (const [question, typed] of dialogue) {
    await terminal.waitForText(question);
    terminal.type(typed);
  }
}

const confirm = /Apply these changes\? \[y\/N\] /;

describe('the questions of berth init login-node on a terminal', () => {
  // A machine with several addresses would be asked for one.
  const loginNode = () => host.openInit('login-node', '--address', 'all');

  it('are repeated after a wrong answer, and nothing is written without a yes', async () => {
    const before = await host.state();
    const terminal = loginNode();
    await answer(
      terminal,
      [/Image of the sessions \[\S+\]: /, 'Not an image\r'],
      [/Not an image: .*\r\n[^\r\n]*Image of the sessions/, 'localhost/berth-site:1\r'],
      [/Accounts that may log in, separated by spaces \[none\]: /, 'al;ice\r'],
      [/al;ice: must be names of accounts\r\n[^\r\n]*Accounts/, 'alcie\r'],
      [/alcie: there is no account "alcie"\r\n[^\r\n]*Accounts/, 'daemon\r'],
      [/daemon: daemon is a system account .*\r\n[^\r\n]*Accounts/, 'alice\r'],
      [/Port of the sessions' own sshd, best below 1024 \[332\]: /, '70000\r'],
      [/70000: must be a port from 1 to 65535\r\n[^\r\n]*Port/, `${host.port}\r`],
      [/login-shell \(.*\) or forced \[login-shell\]: /, 'both\r'],
      [/both: must be login-shell or forced\r\n[^\r\n]*login-shell/, '\r'],
      [/Pull the image now \[yes\]: /, 'yo\r'],
      [/yo: must be yes or no\r\n[^\r\n]*Pull/, 'N\r'],
      [confirm, '\r'],
    );
    expect(await terminal.waitForExit()).toBe(75);
    expect(terminal.text).toContain('nothing was written [init-cancelled]');
    expect(terminal.text).toContain('+image: localhost/berth-site:1');
    expect(terminal.text).toMatch(/run: usermod .*alice\r\n/);
    expect(await host.state()).toBe(before);
  });

  it.each([
    ['Ctrl-C at the first', ctrlC, 0],
    ['Ctrl-D at the first', ctrlD, 0],
    ['Ctrl-C at the third', `half an answer${ctrlC}`, 2],
    ['Ctrl-D at the fifth', ctrlD, 4],
    ['Ctrl-C at the last', ctrlC, 5],
    ['Ctrl-D at the last', ctrlD, 5],
  ])('are left with %s, and nothing is written', async (_how, key, answered) => {
    const before = await host.state();
    const terminal = loginNode();
    const all = [/Image/, /Accounts/, /Port/, /login-shell/, /Pull/, confirm] as const;
    const typed = ['\r', 'alice\r', `${host.port}\r`, '\r', 'no\r'];
    await answer(
      terminal,
      ...all.slice(0, answered).map((question, index) => [question, typed[index] ?? ''] as const),
      [all[answered] ?? /./, key],
    );
    expect(await terminal.waitForExit()).toBe(75);
    expect(terminal.text).toMatch(/\r\nberth: the question was not answered; nothing was written/);
    expect(await host.state()).toBe(before);
  });

  it('take lines that are pasted at once, and the next run has the answers as defaults', async () => {
    const terminal = loginNode();
    await terminal.waitForText(/Image/);
    terminal.type(`localhost/berth-site:1\ralice\r${host.port}\rforced\rno\rno\r`);
    await answer(terminal, [confirm, 'y\r']);
    expect(await terminal.waitForExit(), terminal.text).toBe(0);
    // No blank lines between the questions.
    expect(terminal.text).toMatch(/: alice\r\n[^\r\n]*Port of .*\r\n[^\r\n]*login-shell \(/);
    expect(terminal.text).toContain(`next: try it: ssh -p ${host.port} alice@`);

    const again = loginNode();
    await answer(
      again,
      [/Image of the sessions \[localhost\/berth-site:1\]: /, '\r'],
      [/Accounts/, 'alice\r'],
      [new RegExp(`Port of the sessions' own sshd, best below 1024 \\[${host.port}\\]: `), '\r'],
      [/or forced \[forced\]: /, '\r'],
      [/Pull/, 'no\r'],
      [/nothing to change/, ''],
    );
    expect(await again.waitForExit(), again.text).toBe(0);
    expect(again.text).not.toMatch(confirm);
  });

  it('are also for an address on a host with several', async () => {
    const network = `ip link set lo up; ip link add one type veth peer name two; ip link set two up
      ip address add 192.0.2.1/24 dev one; ip address add 192.0.2.2/24 dev one; ip link set one up`;
    const words = `--image localhost/berth-site:1 --user alice --port ${host.port} --mode forced --pull no --start no --dry-run`;
    const program = `exec ${installDirectory}/berth init login-node ${words}`;
    const terminal = host.open(['unshare', '--net', 'bash', '-euc', `${network}\n${program}`]);
    await answer(
      terminal,
      [
        /sshd, separated by spaces \(this host has 192\.0\.2\.1, 192\.0\.2\.2\), or all \[all\]: /,
        '192.0.2.3\r',
      ],
      [
        /192\.0\.2\.3: is not an address of this host \(it has 192\.0\.2\.1, .*sshd could not listen on it\r\n/,
        '192.0.2.2\r',
      ],
    );
    expect(await terminal.waitForExit(), terminal.text).toBe(0);
    expect(terminal.text).toContain('+ListenAddress 192.0.2.2');
  });

  it('ask before a file is replaced that somebody has edited', async () => {
    const file = '/etc/berth/profiles/minimal.yml';
    await host.shell(`echo 'lifetime: user' >>${file}`);
    const options = ['login-node', '--image', 'localhost/berth-site:1', '--user', 'alice'];
    options.push('--address', 'all');
    const words = [...options, '--port', String(host.port), '--mode', 'forced'];
    const run = () => host.openInit(...words, '--pull', 'no', '--start', 'no');
    const left = run();
    await answer(left, [
      /Replace \S+minimal\.yml\? A backup of the current file is kept \[y\/N\] /,
      '\r',
    ]);
    expect(await left.waitForExit(), left.text).toBe(0);
    expect(left.text).toContain(`${file}: left as it is`);
    const replaced = run();
    await answer(replaced, [/Replace \S+minimal\.yml\? .*\[y\/N\] /, 'y\r'], [confirm, 'y\r']);
    expect(await replaced.waitForExit(), replaced.text).toBe(0);
    const [, kept = ''] = /^ {2}cp -p (\S+) \S+minimal\.yml/m.exec(replaced.text) ?? [];
    expect((await host.shell(`tail -n 1 ${kept}; tail -n 1 ${file}`)).stdout).toMatch(
      /^lifetime: user\n(?!lifetime)/,
    );
  });

  it('do not overwrite a file that was changed while a question was open', async () => {
    const file = '/etc/berth/profiles/minimal.yml';
    await host.shell(`rm ${file}`);
    const terminal = host.openInit(
      ...['login-node', '--image', 'localhost/berth-site:1', '--user', 'alice', '--pull', 'no'],
      ...['--port', String(host.port), '--mode', 'forced', '--start', 'no', '--address', 'all'],
    );
    await terminal.waitForText(confirm);
    await host.shell(`echo 'image: localhost/other:1' >${file}`);
    terminal.type('y\r');
    expect(await terminal.waitForExit()).toBe(75);
    expect(terminal.text).toContain('[init-file-changed]');
    expect((await host.shell(`cat ${file}`)).stdout).toBe('image: localhost/other:1\n');
  });
});

describe('without a terminal, before anything is shown,', () => {
  const common = `login-node --image localhost/berth-site:1 --user alice --mode forced`;
  it.each([
    [common, 64, 'there is no terminal to ask on: give --yes; the defaults of --port, --pull then'],
    [`${common} --port 332 --pull no`, 64, 'there is no terminal to ask on: give --yes [usage]'],
    ['cluster --name prod', 64, 'there is no terminal to ask on: give --yes, --kubeconfig; the'],
    [`${common} --user nosuch --yes`, 67, 'there is no account "nosuch" [user-unknown]'],
  ])('berth init %s is refused', async (words, exitCode, message) => {
    expect(await host.init(words)).toMatchObject({
      ...{ exitCode, stdout: '' },
      stderr: expect.stringContaining(`berth: ${message}`) as unknown,
    });
  });
});

describe('the questions of berth init portal and cluster on a terminal', () => {
  const directory = '/etc/ood/config';
  const files = ['--ood-directory', directory];

  beforeAll(async () => {
    await host.shell(`rm -f /etc/berth/berth.yml; mkdir -p ${directory}/clusters.d
      printf '%s\\n' 'IDP_ISSUER_URL="https://idp.example.org/realms/hpc"' 'CLIENT_ID=ondemand' \\
        'NAMESPACE_PREFIX=u-' >${directory}/hook.env
      chmod 0600 ${directory}/hook.env
      openssl req -x509 -newkey ed25519 -nodes -subj /CN=test -days 2 -keyout /dev/null -out /root/ca.pem 2>&1
      printf '%s\\n' 'apiVersion: v1' 'kind: Config' 'current-context: admin' \\
        'clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", certificate-authority: /root/ca.pem}}]' \\
        'contexts: [{name: admin, context: {cluster: c, user: u}}]' 'users: [{name: u, user: {token: t}}]' \\
        >/root/admin.kubeconfig; chmod 0600 /root/admin.kubeconfig`);
  });

  it('take the defaults with Enter, and name a relative path', async () => {
    const terminal = host.openInit('portal', ...files);
    await answer(
      terminal,
      [/--oidc-username-prefix\) \[none\]: /, 'oidc:\r'],
      [/--oidc-client-id\), .* \[none\]: /, '\r'],
      [/if this host does not trust it \[none\]: /, 'ca.pem\r'],
      [/ca\.pem: must be an absolute path\r\n[^\r\n]*File with/, '\r'],
      [/if it has the audience already \[id\]: /, '\r'],
      [confirm, 'y\r'],
      [/next: then: berth doctor --user NAME/, ''],
    );
    // Doctor finds no cluster, which comes next.
    expect(await terminal.waitForExit()).toBe(0);
    const { stdout } = await host.shell("grep -v '^ *#' /etc/berth/berth.yml | grep .");
    expect(stdout).toContain('  subject_prefix: "oidc:"\n');
    expect(stdout).not.toContain('audience');

    const again = host.openInit('portal', ...files);
    await answer(again, [/prefix\) \[oidc:\]: /, '\r'], [/client-id/, '\r'], [/trust it/, ctrlD]);
    expect(await again.waitForExit()).toBe(75);
  });

  it('of a cluster ask again for what has no default', async () => {
    const terminal = host.openInit('cluster', ...files);
    await answer(
      terminal,
      [/Name of the cluster in OnDemand: /, '\r'],
      [/an answer is needed\r\n[^\r\n]*Name/, 'Prod\r'],
      [/Prod: must be lower-case letters, digits and hyphens\r\n[^\r\n]*Name/, 'prod\r'],
      [/Kubeconfig of a cluster admin: /, '/root/admin.kubeconfig\r'],
      [/oidc or service-account \[oidc\]: /, 'password\r'],
      [/password: must be oidc or service-account\r\n[^\r\n]*How/, '\r'],
      [/make its token \[yes\]: /, 'no\r'],
      [confirm, 'y\r'],
      [/next: with your rights on the cluster: \S*kubectl .*apply -k/, ''],
    );
    await terminal.waitForExit();
    const { stdout } = await host.shell(`cat ${directory}/clusters.d/prod.yml`);
    expect(stdout).toContain('namespace_prefix: u-');

    const left = host.openInit('cluster', ...files, '--name', 'other');
    await answer(left, [/Kubeconfig/, ctrlC]);
    expect(await left.waitForExit()).toBe(75);
    expect((await host.shell(`ls ${directory}/clusters.d`)).stdout).toBe('prod.yml\n');
  });

  it('of sessions in pods ask for the cluster, and know what the portal has of it', async () => {
    const pods = (...more: string[]) =>
      host.openInit(
        ...[
          'login-node',
          '--backend',
          'pod',
          '--image',
          'localhost/berth-site:1',
          '--user',
          'alice',
        ],
        ...['--address', 'all', '--port', String(host.port), '--mode', 'forced', '--start', 'no'],
        ...['--dry-run', ...more],
      );
    const before = await host.state();
    const terminal = pods();
    await answer(
      terminal,
      [/Name of the cluster, as on the portal: /, 'Prod\r'],
      [/Prod: must be lower-case letters, digits and hyphens\r\n[^\r\n]*Name/, 'prod\r'],
      [/Kubeconfig of a cluster admin, or one with .*: /, '/root/none\r'],
      [/none: there is no such file\r\n[^\r\n]*Kubeconfig/, '/root/admin.kubeconfig\r'],
      [/names in namespaces \[none\]: /, 'u-\r'],
      [/requests a token for it \[yes\]: /, 'perhaps\r'],
      [/perhaps: must be yes or no\r\n[^\r\n]*requests a token for it/, 'no\r'],
    );
    expect(await terminal.waitForExit(), terminal.text).toBe(0);
    expect(terminal.text).toMatch(/\+ +ssh_sessions: \{\}/);
    expect(await host.state()).toBe(before);

    const file = `${directory}/clusters.d/prod.yml`;
    await host.shell(`sed -i 's/namespace_prefix: u-/namespace_prefix: "u-"/' ${file}`);
    const known = pods('--cluster', 'prod', '--kubeconfig', '/root/admin.kubeconfig');
    await answer(known, [/names in namespaces \[u-\]: /, ctrlC]);
    expect(await known.waitForExit()).toBe(75);
  });

  it('accept a cluster of a public CA, hooks.env in place of hook.env, and an empty one', async () => {
    const init = (kubeconfig: string) =>
      host.init(
        `cluster --name public --kubeconfig ${kubeconfig} --apply no --dry-run --yes ${files.join(' ')}`,
      );
    await host.shell(`cd ${directory}; mv hook.env hooks.env
      sed 's/, certificate-authority: [^}]*//' /root/admin.kubeconfig >/root/public
      sed 's/certificate-authority: [^}]*/insecure-skip-tls-verify: true/' /root/admin.kubeconfig >/root/insecure
      chmod 0600 /root/public /root/insecure`);
    const { exitCode, stdout, stderr } = await init('/root/public');
    expect(exitCode, stderr).toBe(0);
    expect(stdout).toContain('endpoint: https://127.0.0.1:1');
    expect(stdout).toContain('namespace_prefix: u-');
    expect(stdout).not.toMatch(/cert_authority_file|\.pem/);
    expect((await init('/root/insecure')).stderr).toContain('[admin-kubeconfig-unsupported]');

    const rendered = () =>
      host.shell(`${installDirectory}/berth render --user eve --uid 5001 --gid 5001`);
    expect((await rendered()).stdout).toContain('name: u-eve\n');
    await host.shell(`cd ${directory}; : >hooks.env`);
    const { stdout: objects, stderr: why } = await rendered();
    expect(objects).toMatch(/^kind: Namespace/m);
    expect(why).toContain('[credentials-incomplete]');
    await host.shell(`cd ${directory}; : >hook.env; echo NAMESPACE_PREFIX=other- >hooks.env`);
    expect((await rendered()).stdout).not.toContain('name: other-eve');
    await host.shell(`rm ${directory}/hooks.env`);
  });
});
