import { chmod, readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnsibleSite } from '../../rig/ansible/ansible-site.ts';
import { BannerWatch } from '../../rig/ansible/banner-watch.ts';
import { OpenSessions } from '../../rig/ansible/open-sessions.ts';
import type { SystemdHost } from '../../rig/systemd/systemd-host.ts';
import { savedBusybox } from '../../rig/login-node/image-archives.ts';
import { run } from '../../../src/companions/verify/run-client.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { freePorts } from '../../rig/free-ports.ts';

/** A site's file, with keys of its own and a value that is not what Berth needs. */
const oodPortal = `# The portal of the site
servername: ondemand.example.org
oidc_uri: /oidc
pun_pre_hook_exports: OIDC_ACCESS_TOKEN # as OSC's hook needs it
oidc_settings:
    # the site's own
    OIDCSessionInactivityTimeout: 28800
    OIDCPassRefreshToken: 'Off'
logroot: logs
`;
const unchanged = { changed: 0, unreachable: 0, failed: 0 };
/** Milliseconds; many times what it takes on an idle machine. */
const timeout = 1_800_000;

let site: AnsibleSite;
let nodes: readonly [SystemdHost, SystemdHost];
let ports: Record<'node' | 'front' | 'peers' | 'statistics', number>;
const firewallPlaybook = new URL('../../rig/ansible/firewall.yml', import.meta.url).pathname;
/** Where the balancer listens. */
const front = '127.18.0.9';

beforeAll(async () => {
  // One of them is removed below, so that the role has a package to install.
  await ensurePackages(['podman', 'catatonit', 'crun', 'uidmap', 'slirp4netns', 'fuse-overlayfs']);
  site = await AnsibleSite.create();
  ports = await freePorts(['node', 'front', 'peers', 'statistics']);
  nodes = await Promise.all([site.boot('login1', '127.18.0.1'), site.boot('login2', '127.18.0.2')]);
  const [archive, image] = await Promise.all([site.archive(), savedBusybox()]);
  const key = (await readFile(site.path('key.pub'), 'utf8')).trim();
  for (const node of nodes)
    await node.script(`
      useradd --create-home --shell /bin/bash alice
      useradd bob
      install -d -m 0700 -o alice -g alice ~alice/.ssh
      echo '${key}' | install -m 0600 -o alice -g alice /dev/stdin ~alice/.ssh/authorized_keys
      apt-get --quiet update
      apt-get --quiet --yes purge catatonit`);
  const balancerConfig = {
    ...{ hostname: 'login.example.org', listen: [front], peers_port: ports.peers },
    statistics: { port: ports.statistics },
    balancers: [{ name: 'login1', address: front }],
    systems: [{ name: 'alpha', nodes: nodes.map(({ name, address }) => ({ name, address })) }],
    kinds: [{ name: 'podman', system: 'alpha', port: ports.front, node_port: ports.node }],
  };
  await site.writeInventory({
    login_nodes: {
      hosts: Object.fromEntries(
        nodes.map((node) => [
          node.name,
          {
            ...site.connection(node),
            // The first one has it as a balancer.
            berth_login_node_balancer: node === nodes[0] ? {} : balancerConfig,
            berth_login_node_kinds: [
              {
                ...{ name: 'podman', port: ports.node, addresses: [node.address] },
                // Ports of tests are free ones, which are high.
                accept: ['port-unprivileged'],
              },
            ],
          },
        ]),
      ),
      vars: {
        berth_install_archive: archive,
        berth_login_node_image_archives: [image],
        berth_login_node_members: ['alice'],
        berth_login_node_doctor_user: 'alice',
        berth_login_node_subid_users: ['alice', 'bob'],
        berth_login_node_ssh: {
          rules: [{ profile: 'minimal' }],
          podman: { cgroup_manager: 'cgroupfs' },
        },
        berth_login_node_profiles: {
          minimal: { image: 'localhost/berth-busybox:1', lifetime: 'user' },
        },
      },
    },
    balancers: {
      hosts: { login1: {} },
      vars: {
        berth_balancer_config: balancerConfig,
      },
    },
    portals: {
      hosts: { login2: {} },
      vars: {
        berth_portal_doctor: false,
        // Not OnDemand's own path: without a cluster, doctor would report an incomplete portal.
        berth_portal_ood_portal_yml: '/srv/ood_portal.yml',
        berth_portal_secrets: [{ path: '/etc/berth/client-secret', content: 'hidden-value' }],
      },
    },
  });
  await nodes[1].script(`cat > /srv/ood_portal.yml <<'END'
${oodPortal}END`);
}, timeout);
afterAll(() => site.remove());

/** Options of a user's ssh. */
const sshTo = (address: string, port = ports.node): string[] => [
  ...['-F', '/dev/null', '-i', site.path('key'), '-o', 'BatchMode=yes', '-p', String(port)],
  ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
  ...['-o', 'LogLevel=ERROR', `alice@${address}`],
];

describe('the playbook site.yml', () => {
  let predicted: readonly string[];
  let output: string;

  it('says with --check what it would do on a pristine host', { timeout }, async () => {
    const before = await filesOf(nodes[0]);
    const played = await site.play('site', '--check', '--diff', '--limit', 'login1');
    expect(played.exitCode, played.output).toBe(0);
    expect(await filesOf(nodes[0])).toBe(before);
    expect(played.output).toContain('+PidFile none');
    predicted = played.changedTasks('login1');
  });

  it('sets up login nodes on which sessions work', { timeout }, async () => {
    const played = await site.play('site', '--diff');
    expect(played.exitCode, played.output).toBe(0);
    output = played.output;
    for (const node of nodes) {
      const { stdout, stderr } = await run('ssh', [
        ...sshTo(node.address),
        'id -un; cat /proc/1/comm',
      ]);
      const log = await node.script('journalctl --no-pager -t berth');
      expect(stdout.toString(), stderr + log).toBe('alice\npodman-init\n');
    }
    expect(await nodes[1].script('grep -c ^bob: /etc/subuid')).toBe('1\n');
    const through = await run('ssh', [...sshTo(front, ports.front), 'id -un']);
    expect(through.stdout.toString(), through.stderr).toBe('alice\n');
    // In check mode, tasks that need what an earlier one installs are reported by another one, or too often.
    const reported =
      /^(?:Unpack|Replace|Give local|Pull|Create the directory of|Write haproxy|Start haproxy|Say )/;
    const named = (tasks: readonly string[]) => [
      ...new Set(tasks.filter((task) => !reported.test(task))),
    ];
    expect(named(predicted)).toEqual(named(played.changedTasks('login1')));
  });

  it("adds keys to a portal's ood_portal.yml, and leaves the others with their comments", async () => {
    const lines = (await nodes[1].script('cat /srv/ood_portal.yml')).split('\n');
    const wanted = [
      'pun_pre_hook_root_cmd: "/usr/lib/berth/hooks/pre-pun"',
      'pun_pre_hook_exports: "OIDC_ACCESS_TOKEN,OIDC_ID_TOKEN,OIDC_REFRESH_TOKEN"',
      '    OIDCPassIDTokenAs: "serialized"',
      '    OIDCPassRefreshToken: "On"',
      '    OIDCPassClaimsAs: "environment"',
      '    OIDCStripCookies: "mod_auth_openidc_session"',
    ];
    expect(lines).toEqual(expect.arrayContaining(wanted));
    const replaced = /^pun_pre_hook_exports|OIDCPassRefreshToken/;
    expect(lines.filter((line) => !wanted.includes(line))).toEqual(
      oodPortal.split('\n').filter((line) => !replaced.test(line)),
    );
  });

  it('shows no secret, and writes it for root alone', async () => {
    expect(output).not.toContain('hidden');
    const text = await nodes[1].script("stat -c '%a %U' /etc/berth/client-secret");
    expect(text).toBe('600 root\n');
  });

  // That of login nodes runs again for the upgrade.
  it('changes nothing on balancers and portals when it runs again', { timeout }, async () => {
    const first = 'berth.berth.berth_balancer : Install the packages of Debian';
    const again = await site.play('site', '--diff', '--start-at-task', first);
    expect(Object.keys(again.recap).sort(), again.output).toEqual(['login1', 'login2']);
    expect(again.recap, again.output).toMatchObject({ login1: unchanged, login2: unchanged });
    const verified = await site.play('verify');
    expect(verified.exitCode, verified.output).toBe(0);
  });

  it('keeps a haproxy.cfg that was edited by hand', { timeout }, async () => {
    await nodes[0].script('echo "# by hand" >> /etc/haproxy/haproxy.cfg');
    const args = ['--limit', 'login1', '--start-at-task', 'Check whether berth is installed'];
    const refused = await site.play('site', ...args);
    expect(refused.output).toMatch(/haproxy\.cfg on login1 was edited by hand and is kept/);
    expect(await nodes[0].script('tail -n 1 /etc/haproxy/haproxy.cfg')).toBe('# by hand\n');
    const replaced = await site.play(
      'site',
      ...[...args, '--extra-vars', 'berth_balancer_replace_edited=true'],
    );
    expect(replaced.exitCode, replaced.output).toBe(0);
    expect(await nodes[0].script('tail -n 1 /etc/haproxy/haproxy.cfg.edited')).toBe('# by hand\n');
  });
});

describe('the playbook upgrade.yml, while 20 sessions are open', { timeout }, () => {
  let sessions: OpenSessions;
  let watch: BannerWatch;

  beforeAll(async () => {
    sessions = await OpenSessions.open(
      nodes.flatMap((node) => Array.from({ length: 10 }, () => sshTo(node.address))),
    );
    watch = new BannerWatch(
      nodes.map(({ address }) => address),
      ports.node,
    );
  }, timeout);
  afterAll(async () => {
    watch.stop();
    await sessions.close();
  });

  it('stops at the first node if the new version has a fault, and leaves it drained', async () => {
    await chmod(site.path('stage/usr/lib/berth/shell/login'), 0o644);
    const played = await site.play('upgrade', ...using(await site.pack('broken.tar.gz')));
    expect(played.exitCode).not.toBe(0);
    expect(played.output).toMatch(/login1 was not upgraded and stays drained/);
    expect(played.output).toMatch(/login-not-executable/);
    expect(played.recap.login2).toBeUndefined();
    expect(await watch.answering()).toEqual([nodes[1].address]);
    expect(await sessions.answering()).toBe(20);
  });

  it('goes over the nodes one at a time, and ends no session', async () => {
    await chmod(site.path('stage/usr/lib/berth/shell/login'), 0o755);
    await writeFile(site.path('stage/usr/lib/berth/share/NEW'), 'a file of the new version\n');
    const played = await site.play('upgrade', ...using(await site.pack('new.tar.gz')));
    expect(played.exitCode, played.output).toBe(0);
    for (const node of nodes) {
      await node.script('cat /usr/lib/berth/share/NEW; ! test -e /etc/berth/drain');
      // The first one is drained already. Of the whole role nothing else changes anything, as when site.yml runs again.
      expect(played.changedTasks(node.name), played.output).toEqual([
        ...(node === nodes[0] ? [] : ['Note that an upgrade has begun', 'Drain the node']),
        ...['Unpack the archive', 'Replace each file with the new one'],
        ...[
          'Note which archive is installed',
          'End the drain',
          'Note that the upgrade is complete',
        ],
      ]);
    }
    expect(await watch.answering()).toHaveLength(2);
    expect(watch.fewest).toBe(1);
    expect(await sessions.answering()).toBe(20);
  });

  it('does nothing on nodes that have the version already', async () => {
    const { recap, output } = await site.play('upgrade', ...using(site.path('new.tar.gz')));
    expect(recap, output).toMatchObject({ login1: unchanged, login2: unchanged });
  });
});

// The last one: firewalld brings D-Bus, with which logind starts.
it('opens the ports of the kinds in firewalld and ufw', { timeout }, async () => {
  await installFirewalls(nodes[0]);
  const shown = {
    firewalld: 'firewall-cmd --list-ports; firewall-cmd --permanent --list-ports',
    ufw: 'ufw show added; grep -e "--dport" /etc/ufw/user.rules',
  };
  for (const [firewall, show] of Object.entries(shown)) {
    const value = `berth_login_node_firewall=${firewall}`;
    const open = (...args: readonly string[]) =>
      site.play(firewallPlaybook, '--extra-vars', value, ...args);
    const task = `Open the ports in ${firewall}`;
    for (const args of [['--check'], []]) {
      const played = await open(...args);
      expect(played.exitCode, played.output).toBe(0);
      expect(played.changedTasks('login1'), played.output).toContain(task);
    }
    const listed = await nodes[0].script(show);
    expect(listed.match(new RegExp(`\\b${ports.node}\\b`, 'g')), listed).toHaveLength(2);
    const again = await open();
    expect(again.recap.login1, again.output).toMatchObject(unchanged);
  }
});

/** Installs firewalld and ufw on a host. firewalld has a network of its own: that of the host is the machine's. */
const installFirewalls = (host: SystemdHost): Promise<string> =>
  host.script(`
    printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d
    chmod +x /usr/sbin/policy-rc.d
    DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes --no-install-recommends install firewalld ufw
    mkdir -p /etc/systemd/system/firewalld.service.d
    printf '[Service]\\nPrivateNetwork=yes\\n' >/etc/systemd/system/firewalld.service.d/test.conf
    systemctl daemon-reload
    # policy-rc.d has kept D-Bus from reading polkit's rules after its user was made; firewalld waits for polkit for ever.
    systemctl start dbus
    systemctl reload dbus
    systemctl start polkit
    systemctl start firewalld
    # It reads its configuration meanwhile, on a busy machine for longer than D-Bus waits.
    timeout 240 sh -c 'until timeout 60 firewall-cmd --permanent --list-ports; do :; done' >/dev/null || {
      journalctl --no-pager -n 60 -u dbus -u polkit -u firewalld >&2
      exit 1
    }
    rm /usr/sbin/policy-rc.d`);

const using = (archive: string): string[] => ['--extra-vars', `berth_install_archive=${archive}`];

/** Names, times and modes of all files that Ansible could have changed. */
const filesOf = (host: SystemdHost): Promise<string> =>
  host.script(
    "find /etc /usr/local /root /usr/lib -maxdepth 3 -type f ! -path '*/.ansible*' ! -path '*/.rpmdb/*' -printf '%p %T@ %m\\n' | sort",
  );
