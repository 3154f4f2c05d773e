import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../rig/free-ports.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { type BerthResult, KindHost } from '../sshd-kinds/kind-host.ts';

const berth = `${installDirectory}/berth`;
const news = `# Maintenance on Monday

From 8:00 to 12:00 the login nodes are restarted one after the other. Sessions end \u001b[31mthen\u0007.

More.
`;
const line = 'Maintenance on Monday';

describe('berth render pages', () => {
  let node: KindHost;
  let port: number;

  beforeAll(async () => {
    node = await KindHost.start();
    ({ port } = await freePorts(['port']));
    await node.shell(`
      echo '127.0.0.1 login.example.org' >>/etc/hosts
      mkdir -p /etc/berth/news /etc/motd.d /run/admin
      cat >/etc/berth/news/2026-11-26-maintenance.md <<'END'\n${news}END
      ssh-keygen -q -t ed25519 -N '' -C 'login CA' -f /run/admin/ca
      for type in ed25519 rsa ecdsa; do ssh-keygen -q -t $type -N '' -f /etc/ssh/key_$type; done`);
    const keys = ['ed25519', 'rsa', 'ecdsa'].map((type) => `/etc/ssh/key_${type}`);
    const names = ['--principal', 'login.example.org', 'login1.example.org'];
    const made = [
      await node.sshd('certify', '--ca', '/run/admin/ca', ...names, '--host-key', ...keys),
      await node.sshd(
        ...[
          'new',
          'podman',
          '--port',
          String(port),
          '--profile',
          'base',
          '--accept',
          'shell-reads-home',
        ],
        ...['--host-key', ...keys],
      ),
    ];
    for (const { exitCode, stderr } of made)
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    await node.allowKeyInHome();
    await node.startKind('podman', port);
  });
  afterAll(() => node.stop());

  const render = (...more: readonly string[]): Promise<BerthResult> =>
    node.shell(`${berth} render pages /run/pages --host login.example.org ${more.join(' ')}`);
  const page = async (name: string): Promise<string> =>
    (await node.shell(`cat /run/pages/${name}`)).stdout;

  it('writes pages and the message of the day', async () => {
    expect(await render('--motd', '/etc/motd.d/berth')).toEqual({
      ...{ exitCode: 0, stderr: '' },
      stdout:
        'index.html: new\nprofiles.html: new\nstatus.html: new\nnews.html: new\nstyle.css: new\n/etc/motd.d/berth: new\n',
    });
    const index = await page('index.html');
    expect(index).toContain(`ssh -p ${port} USER@login.example.org`);
    expect(index).toContain('profiles.html#profile-base');
    expect(await page('profiles.html')).toContain('id="profile-base"');
    expect(await page('news.html')).toContain(line);
  });

  it('has the fingerprints that clients show', async () => {
    const index = await page('index.html');
    const { stdout } = await node.shell(
      `ssh-keyscan -p ${port} login.example.org 2>/dev/null | grep -v '^#' | ssh-keygen -l -f -`,
    );
    const shown = stdout.match(/SHA256:\S+/g) ?? [];
    expect(shown.length).toBe(3);
    for (const fingerprint of shown) expect(index).toContain(fingerprint);
    expect(index.match(/SHA256:/g)).toHaveLength(3);
  });

  it('has the line of the CA, with which a client accepts the host without asking', async () => {
    const lines = (await page('index.html')).match(/@cert-authority [^<\n]*/g);
    const [, type, key] =
      /^(\S+) (\S+)/.exec((await node.shell('cat /run/admin/ca.pub')).stdout) ?? [];
    expect(lines).toEqual([
      `@cert-authority login.example.org,login1.example.org ${String(type)} ${String(key)}`,
    ]);
    const ssh = (known: string) =>
      node.shell(`echo '${known}' >/run/known_hosts
        ssh -F /dev/null -i ${node.host.key('ada')} -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes \
        -o UserKnownHostsFile=/run/known_hosts -o GlobalKnownHostsFile=/dev/null -p ${port} ada@login.example.org true || true`);
    expect((await ssh(lines?.[0] ?? '')).stderr).not.toContain('Host key verification failed');
    expect((await ssh('')).stderr).toContain('Host key verification failed');
  });

  it('changes no file if nothing has changed, and says so', async () => {
    const times = () =>
      node.shell('stat -c "%n %z %i" /run/pages/* /run/pages/.[a-z]* /etc/motd.d/berth');
    const before = await times();
    expect((await render('--motd', '/etc/motd.d/berth')).stdout).toBe('nothing to change\n');
    expect(await times()).toEqual(before);
  });

  it('changes only the status when a timer has run', async () => {
    await node.shell(`mkdir -p /run/metrics
      echo "berth_ssh_reap_last_run_timestamp_seconds $(date +%s)" >/run/metrics/berth.prom
      echo "berth_cluster_reap_last_run_timestamp_seconds $(date +%s)" >/run/elsewhere.prom
      ln -s /run/elsewhere.prom /run/metrics/berth-linked.prom
      mkfifo /run/metrics/berth-other.prom`);
    expect((await render('--metrics', '/run/metrics')).stdout).toBe('status.html: changed\n');
    expect(await page('status.html')).not.toContain('Cleanup on the clusters');
    expect(await page('status.html')).toMatch(/Cleanup of sessions[^]*works[^]*UTC/);
  });

  it('writes a ConfigMap, or says why there is none before anything is written', async () => {
    await render('--config-map', '/run/pages.yaml');
    const { stdout } = await node.shell('cat /run/pages.yaml');
    expect(stdout).toMatch(/^kind: ConfigMap\nmetadata:\n {2}name: berth-pages\n/m);
    await node.shell(
      `cd /etc/berth/news; { echo '# Long'; head -c 900000 /dev/zero | tr '\\0' '<'; } >2026-01-01.md`,
    );
    const refused = await node.shell(
      `${berth} render pages /run/pages --config-map /run/pages.yaml || echo "exit $?"`,
    );
    expect(refused.stdout).toBe('exit 78\n');
    expect(refused.stderr).toMatch(/the largest is news\.html .*\[pages-too-large\]/);
    expect(await page('news.html')).not.toContain('Long');
    await node.shell('rm /etc/berth/news/2026-01-01.md');
  });

  it('shows the message of the day with pam_motd', async () => {
    const { stdout } = await node.host.ssh('ada', ['-tt'], { input: 'exit\n' });
    expect(stdout.toString()).toContain(line);
  });

  it('removes nothing outside of a directory whose owner swaps a part of it for a link', async () => {
    const { home } = node.host.account('ada');
    const { stdout } = await node.shell(`
      install -d /run/root-only; echo keep >/run/root-only/victim
      cat >/run/swap.pl <<'END'
        use Digest::SHA qw(sha256_hex);
        sub put { open(my $file, '>', $_[0]) or die; print $file $_[1]; close $file }
        sub inode { (stat '.berth-site.json')[1] }
        chdir or die; mkdir 'site'; chdir 'site' or die; mkdir 'sub'; put('sub/victim', "keep\n");
        put('.berth-site.json', '{"sub/victim": ["' . sha256_hex("keep\n") . '"]}');
        my $before = inode; my $end = time + 60; put('../ready', '');
        1 while inode == $before && time < $end;
        rename 'sub', 'aside'; symlink '/run/root-only', 'sub'; put('../swapped', '');
END
      setpriv --reuid ada --regid ada --clear-groups env HOME=${home} perl /run/swap.pl &
      until [ -e ${home}/ready ]; do sleep 0.1; done
      chown root:root ${home}/site/.berth-site.json # As if root had written it: no other record is trusted.
      ${berth} render pages ${home}/site >/dev/null
      wait
      ls ${home} ${home}/site/sub ${home}/site/aside; cat /run/root-only/victim`);
    expect(stdout).toMatch(/\bswapped\n/);
    expect(stdout).toMatch(/\/aside:\n\n[^\n]*\/sub:\nvictim\nkeep\n$/);
  });

  it('follows a link to the directory that root made, and none that a user made', async () => {
    const { home, uid } = node.host.account('ada');
    await node.shell(`mkdir -p /run/web/pages /run/owned; ln -s web /run/link
      ln -s /run/owned ${home}/link; chown -h ${uid} ${home}/link`);
    const write = (to: string) =>
      node.shell(`${berth} render pages ${to} --motd ${to}.motd || echo "exit $?"`);
    expect((await write('/run/link/pages')).stdout).toContain('/run/link/pages.motd: new\n');
    const refused = await write(`${home}/link/pages`);
    expect(refused.stdout).toBe('exit 78\n');
    expect(refused.stderr).toContain('[site-directory-unsafe]');
    expect((await node.shell('ls /run/owned /run/web')).stdout).toBe(
      '/run/owned:\n\n/run/web:\npages\npages.motd\n',
    );
    await node.shell(
      `rm ${home}/link; mkdir ${home}/link; ln -s /run/owned/motd ${home}/link/motd`,
    );
    const motd = await node.shell(
      `${berth} render pages ${home}/link/pages --motd ${home}/link/motd || echo "exit $?"`,
    );
    expect(motd.stderr).toContain(`${home}/link/motd is, or leads through, a symlink`);
  });

  it('trusts no news that others can write', async () => {
    await node.shell('chmod 0666 /etc/berth/news/*');
    const refused = await node.shell(`${berth} render pages /run/pages || echo "exit $?"`);
    expect(refused.stdout).toBe('exit 78\n');
    expect(refused.stderr).toContain('[config-writable-by-others]');
  });
});

describe('the news in a session in a container', () => {
  let host: SshHost;

  beforeAll(async () => {
    host = await SshHost.start({ mode: 'forced', users: { ada: [] } });
    const news26 = '/etc/berth/news/2026-11-26.md';
    const script = `mkdir -p /etc/berth/news /etc/motd.d; cat >${news26} <<'END'\n${news}END
      ${berth} render pages /run/pages --motd /etc/motd.d/berth`;
    expect(await host.asRoot(['bash', '-euc', script])).toMatchObject({ exitCode: 0 });
  });
  afterAll(() => host.stop());

  const terminal = async (): Promise<string> =>
    (await host.ssh('ada', ['-tt'], { input: 'stty size; exit\n' })).stdout.toString();

  it('are shown on its terminal, where they cannot control it', async () => {
    const shown = await terminal();
    expect(shown).toContain(`2026-11-26  ${line}\r\nFrom 8:00`);
    expect(shown).toContain('\\u{1b}[31mthen\\u{7}.');
    expect(shown).not.toContain('\u001b[31m');
    expect(shown).not.toContain('More.');
    const lines = shown.slice(shown.indexOf(line), shown.indexOf('then')).split('\r\n');
    for (const one of lines) expect(one.length).toBeLessThanOrEqual(80);
  });

  it('are not shown to programs, nor with ~/.hushlogin', async () => {
    const { stdout } = await host.ssh('ada', ['true']);
    expect(stdout.toString()).toBe('');
    await host.ssh('ada', ['touch .hushlogin']);
    expect(await terminal()).not.toContain(line);
  });
});
