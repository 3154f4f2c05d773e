import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { savedBusybox, savedBusyboxName } from '../../rig/login-node/image-archives.ts';
import { run } from '../../../src/companions/verify/run-client.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { SystemdHost } from '../../rig/systemd/systemd-host.ts';
import { endsForkChain } from './ends-fork-chain.ts';
import { cleansUpInSlice, endsLeftInScope } from './cleanup-slice.ts';
import { homeFiles } from './home-files.ts';
import { mailRunsCommands } from './mail-commands.ts';

const address = '127.18.2.1';
const berth = join(installDirectory, 'berth');
const login = join(installDirectory, 'shell/login');
/** Of alice: no other account of the machine has it. */
const uid = 4711;

describe('berth init login-node on a host with systemd', () => {
  let host: SystemdHost;
  let port: number;
  let forcedPort: number;

  beforeAll(async () => {
    await ensurePackages([
      ...['openssh-server', 'podman', 'crun', 'uidmap', 'slirp4netns', 'catatonit'],
      'fuse-overlayfs',
    ]);
    const ports = await freePorts(['admin', 'sessions', 'forced']);
    ({ sessions: port, forced: forcedPort } = ports);
    host = await SystemdHost.boot({
      name: 'initnode',
      address,
      adminPort: ports.admin,
      adminKey: '',
    });
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(host.directory, 'key')]);
    await copyFile(await savedBusybox(), join(host.directory, 'image.tar'));
    // Then logins start the manager of their user. Only on this host: firewalld on others waits for polkit with it.
    await host.script(`export DEBIAN_FRONTEND=noninteractive
      apt-get install --quiet --yes --no-install-recommends libpam-systemd dbus-user-session >&2
      systemctl start dbus.socket; systemctl restart systemd-logind`);
    await host.script(`ssh-keygen -A; useradd --uid ${uid} --create-home --shell /bin/bash alice
      install -d -o alice -m 0700 ~alice/.ssh
      install -o alice -m 0600 ${host.directory}/key.pub ~alice/.ssh/authorized_keys`);
  });
  afterAll(() => host.stop());

  const options = (portOption: string, at = port): string[] => [
    ...['-F', '/dev/null', '-i', join(host.directory, 'key'), '-o', 'BatchMode=yes'],
    ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
    ...['-o', 'LogLevel=ERROR', portOption, String(at)],
  ];
  const ssh = (...words: string[]) => run('ssh', [...options('-p'), `alice@${address}`, ...words]);
  const archive = (): string => join(host.directory, 'image.tar');
  const init = (...more: string[]) =>
    host.asRoot(
      [
        ...[berth, 'init', 'login-node', '--yes', '--user', 'alice'],
        ...['--port', String(port), '--from-archive', archive(), ...more],
      ],
      { timeout: 120_000 },
    );

  it(
    'loads the image from an archive, listens on one address, and ends with a session',
    { timeout: 120_000 },
    async () => {
      const made = await init('--address', address);
      const output = made.stdout.toString();
      expect(output).toContain(`+image: ${savedBusyboxName}`);
      // The timer would pull from a registry every night.
      const units = 'berth-sshd@login.service berth-reap.timer';
      expect(output).toContain(`$ systemctl enable --now ${units}\n`);
      expect(output).toMatch(/session-start\s+a test session of alice with profile minimal took /);
      expect(await host.script('ls -A /var/lib/systemd/linger 2>/dev/null || true')).toBe('');
      expect(output).toContain(`\n  systemctl disable --now ${units}\n`);
      expect(output).toContain(`next: try it: ssh -p ${port} alice@${address}\n`);
      expect(
        await host.script('systemctl is-active berth-sshd@login.service berth-reap.timer'),
        output + made.stderr,
      ).toBe('active\nactive\n');
      expect(await host.script(`ss -Hltn 'sport = :${port}'`)).toMatch(
        new RegExp(`^LISTEN .* ${address}:${port} .*\n$`),
      );
      const { stdout, stderr } = await ssh('id -un; cat /proc/1/comm');
      expect(stdout.toString(), stderr).toMatch(/^alice\n(?:podman-init|catatonit)\n$/);
      expect(output).toContain('/etc/systemd/system/user@.service.d/berth.conf: new');
    },
  );

  it('has all lines of a session in its journal, from sshd to the cleanup', async () => {
    const journal = (): Promise<string> => host.script('journalctl --quiet -t berth');
    const earlier = await journal();
    await ssh('true');
    // Not the end of a session before it.
    const whole =
      /(?<=msg="session opened" user=alice session=)(\S+)\s[^]*msg="session closed" user=alice session=\1\s/;
    const lines = async (): Promise<string> => (await journal()).slice(earlier.length);
    await expect.poll(lines).toMatch(whole);
    const traced = await host.script(`${berth} trace ${whole.exec(await lines())?.[1] ?? ''}`);
    expect(traced).toMatch(/Accepted publickey[^]*msg="session opened"[^]*msg="session closed"/);
  });

  it('cleans up after connections in a slice with limits', () =>
    cleansUpInSlice(host, () => ssh('true')));

  it("limits root's podman for a user, and ends what it has left", () =>
    endsLeftInScope(host, () => ssh('true')));

  it('ends what forks too fast in a container of the manager, which other sessions use', () =>
    endsForkChain(host, { address, port, network: undefined, clientOptions: () => options('-p') }));

  describe('what a session writes into the home', () => {
    const runtime = `/run/user/${uid}`;
    const dropIn = '/etc/systemd/system/user@.service.d/berth.conf';
    const lint = () =>
      host.asRoot([
        ...[berth, 'sshd', 'lint', '-o', 'json'],
        ...['--sshd-config', '/etc/ssh/berth/login.conf'],
        ...['--login', login],
      ]);
    const ranOnHost = (): Promise<string> =>
      host.script(`ls -d ${runtime}/canary-* 2>/dev/null | sed 's/.*canary-//' || true
        for one in $(pgrep -u alice); do
          tr '\\0' '\\n' <"/proc/$one/environ" | grep -o '^CANARY_[A-Z]*' || true
        done | sort -u`);
    const callBus = () =>
      host.asRoot([
        ...['setpriv', '--reuid', String(uid), '--regid', String(uid), '--init-groups'],
        ...['env', '-i', `XDG_RUNTIME_DIR=${runtime}`, 'busctl', '--user', '--timeout=2', 'call'],
        ...['org.example.Canary', '/', 'org.example.Canary', 'Run'],
      ]);
    /** A manager that starts again, as at the next login. */
    const restarted = (): Promise<string> =>
      host.script(`systemctl stop user@${uid}.service; rm -f ${runtime}/canary-*`);

    beforeAll(async () => {
      const lines = Object.entries(homeFiles(runtime)).map(([path, text]) =>
        text.startsWith('->')
          ? `mkdir -p "$(dirname ~/${path})" && ln -sf '${text.slice(2)}' ~/${path}`
          : `mkdir -p "$(dirname ~/${path})" && printf %s '${text.replaceAll("'", `'\\''`)}' >~/${path} && chmod 700 ~/${path}`,
      );
      const { exitCode, stderr } = await ssh(lines.join('\n'));
      expect(exitCode, stderr).toBe(0);
    });

    afterAll(() => host.script('loginctl disable-linger alice'));

    it(
      'would run on a host without the drop-in, so these tests are meaningful',
      { timeout: 180_000 },
      async () => {
        await host.script(
          `mv ${dropIn} /root/; systemctl daemon-reload; systemctl stop user@${uid}`,
        );
        const session = ssh('sleep 60');
        let ended = '';
        void session.then(({ exitCode, stdout, stderr }) => {
          ended = `exit code ${exitCode}: ${stdout.toString()}${stderr}`;
        });
        const alive = (): Promise<void> =>
          ended === ''
            ? Promise.resolve()
            : Promise.reject(new Error(`the session ended: ${ended}`));
        try {
          const all = [
            ...['any-drop-in', 'bus-drop-in', 'unit', 'data-unit', 'bus-service'],
            ...['CANARY_MANAGER', 'CANARY_VARIABLE'],
          ];
          const journal = `journalctl -n 40 -u user@${uid} -u user-runtime-dir@${uid} -u systemd-logind`;
          await waitFor(
            { what: `${all.join(', ')} to run`, timeoutMs: 60_000, everyMs: 100, alive },
            async () => {
              await callBus();
              const ran = (await ranOnHost()).split('\n');
              const missing = all.filter((name) => !ran.includes(name));
              if (missing.length > 0) throw new Error(`${missing.join(', ')} did not run`);
              return true;
            },
          ).catch(async (error: unknown) => {
            throw new Error(await host.script(journal), { cause: error });
          });
          const { stdout, exitCode } = await lint();
          expect(exitCode).toBe(1);
          expect(JSON.parse(stdout.toString())).toMatchObject({
            ok: false,
            codes: expect.arrayContaining(['user-manager-reads-home']) as unknown,
          });
          const sessions = await host.asRoot([berth, 'sessions', 'list']);
          expect(sessions.stdout.toString()).toMatch(
            new RegExp(`\\n +${uid} +unit\\.service +1\\n$`),
          );
          const reaped = await host.asRoot([berth, 'reap', '--dry-run']);
          expect(reaped.stdout.toString()).toContain(`UID ${uid} runs unit.service on this host`);
          await host.script(`cp /root/berth.conf ${dropIn}; systemctl daemon-reload`);
          // The manager that runs is still the former one.
          expect((await lint()).stdout.toString()).toContain(
            'was started with units and variables of the home',
          );
        } finally {
          await host.script(`mv /root/berth.conf ${dropIn}; systemctl daemon-reload
          loginctl terminate-user alice`);
          await session;
        }
      },
    );

    it.each(['login-shell', 'forced'])('does not run on the host at a login: %s', async (mode) => {
      await restarted();
      if (mode === 'forced')
        await host.script(`usermod --shell /bin/sh alice
          ${berth} sshd new forced --mode forced --port ${forcedPort} --address ${address}
          systemctl start berth-sshd@forced.service`);
      const at = mode === 'forced' ? forcedPort : port;
      const to = `alice@${address}`;
      for (const words of [['true'], ['-tt', 'exit'], ['-T']]) {
        await run('ssh', [...options('-p', at), to, ...words]);
        expect(await ranOnHost(), words.join(' ')).toBe('');
      }
      for (const protocol of ['-O', '-s']) {
        const key = join(host.directory, 'key');
        const words = [...options('-P', at), protocol, key, `${to}:/tmp/key${protocol}`];
        const { exitCode, stderr } = await run('scp', words);
        expect(exitCode, stderr).toBe(0);
        expect(await ranOnHost()).toBe('');
      }
      await host.script(`usermod --shell ${login} alice`);
    });

    it('does not run on the host with lingering, from boot on', async () => {
      await restarted();
      await host.script(`loginctl enable-linger alice; systemctl start user@${uid}.service`);
      const bus = await callBus();
      expect(bus.stderr).toContain('org.example.Canary was not provided by any .service files');
      expect(await ranOnHost()).toBe('');
    });

    it("and PAM's environment of the manager is critical if it is the user's", async () => {
      await host.script(`cp /usr/lib/pam.d/systemd-user /etc/pam.d/
        echo 'session required pam_env.so user_readenv=1' >>/etc/pam.d/systemd-user`);
      expect((await lint()).stdout.toString()).toContain('pam-user-environment');
      await host.script('rm /etc/pam.d/systemd-user');
      expect((await lint()).stdout.toString()).not.toContain('pam-user-environment');
    });

    it('and jobs of cron and at that a user made before are reported', async () => {
      const crontabs = '/var/spool/cron/crontabs';
      await host.script(`install -D -o alice -m 0600 /dev/null ${crontabs}/alice`);
      expect((await lint()).stdout.toString()).toContain('run commands of alice on this host');
      await host.script(`rm ${crontabs}/alice`);
      expect((await lint()).stdout.toString()).not.toContain('cron-runs-on-host');
    });

    it('and the mail server is critical while it runs commands of ~/.forward', () =>
      mailRunsCommands(host, { runtime, ranOnHost, lint }));
  });

  it('changes nothing the second time, also with other options of the same meaning', async () => {
    for (const more of [[], ['--image', savedBusyboxName, '--address', address]]) {
      const again = await init(...more);
      expect(again.stdout.toString()).toContain('nothing to change');
      for (const undo of [
        'systemctl disable --now berth-sshd@login.service berth-reap.timer',
        'usermod --shell /bin/bash alice\n  gpasswd --delete alice berth',
        'rm /etc/berth/former-shells',
        'rm /etc/systemd/system/user@.service.d/berth.conf',
      ])
        expect(again.stdout.toString()).toContain(`\n  ${undo}\n`);
      expect(again.exitCode, again.stdout.toString() + again.stderr).toBe(0);
    }
  });

  it('loads an archive again that has another image, and listens on all addresses if asked', async () => {
    await host.script(`cd ${host.directory}; mkdir other; tar -xf image.tar -C other
      config=$(cd other; ls *.json | grep -v manifest); sed -i 's/"created":"2/"created":"1/' other/$config
      id=$(sha256sum <other/$config | cut -c 1-64); mv other/$config other/$id.json
      sed -i "s/$config/$id.json/" other/manifest.json; tar -cf image.tar -C other .`);
    const { stdout, stderr, exitCode } = await init('--address', 'all');
    expect(stdout.toString(), stderr).toContain(
      `$ berth images pull --from-archive ${archive()} ${savedBusyboxName}\n`,
    );
    expect(stdout.toString()).toContain('login.conf: changed');
    expect(exitCode, stdout.toString() + stderr).toBe(0);
    expect((await init()).stdout.toString()).toContain('nothing to change');
  });

  it('refuses before anything is changed what is no archive, and an address of another host', async () => {
    const foreign = await init('--address', '203.0.113.7');
    expect(foreign.stderr).toContain('--address 203.0.113.7: is not an address of this host');
    await host.script(`tar -cf ${archive()} /etc/hostname`);
    const broken = await init();
    expect(broken.stderr).toContain(`archive ${archive()} cannot be read: `);
    expect(broken.stderr).toContain('[archive-unreadable]');
    expect([broken.exitCode, foreign.exitCode]).toEqual([69, 64]);
  });
});
