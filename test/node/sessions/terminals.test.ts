import { chown, readFile, rm, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { berth, berthOn, listed } from './berth-on.ts';
import { HaproxyInFront } from './haproxy-in-front.ts';

/** Shells on the host, with the records of PAM's hook: what is tested are terminals and connections. */
describe('sessions with terminals', () => {
  let host: SshHost;
  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'plain', users: { ada: [], bob: [] } },
      pam: `session optional pam_exec.so quiet ${installDirectory}/hooks/pam-session`,
      sshYml: { balancer_log: '/run/berth-balancer.log' },
    });
  });
  afterAll(() => host.stop());

  const withTerminal = async (
    user: string,
    command: string,
    on: SshHost = host,
  ): Promise<LiveSession> => {
    const alias = ['-o', `HostKeyAlias=[127.0.0.1]:${host.port}`];
    const session = LiveSession.start(on, user, [...alias, '-tt', `echo ready; ${command}`]);
    await session.waitForOutput('ready');
    return session;
  };

  it('are told before they end; one that is stopped (Ctrl-S) delays nobody', async () => {
    const ada = await withTerminal('ada', 'cat');
    const bob = await withTerminal('bob', 'cat');
    // A stopped terminal shows nothing, and a writer would wait for Ctrl-Q.
    bob.client.stdin?.write('\u0013');
    const begun = performance.now();
    const ended = await berthOn(host, [
      ...['sessions', 'end', '--all', '--grace', '1s'],
      ...['--message', 'back at\u001b[31m two'],
    ]);
    expect(ended).toMatchObject({ code: 0, err: '' });
    expect(ended.out.trim().split('\n')).toHaveLength(2);
    expect(performance.now() - begun).toBeLessThan(20_000);
    expect(ada.output).toContain('\u0007*** This session ends in 1 s. back at\\u{1b}[31m two ***');
    expect(await ada.exitCode()).toBe(255);
    expect(await bob.exitCode()).toBe(255);
    expect(await listed(host)).toEqual([]);
  });

  it('are shown again and again on a terminal, and end quietly with a pipe that is not read', async () => {
    const ada = await withTerminal('ada', 'cat');
    // script(1) gives the command a terminal, and ends with it.
    const watch = `timeout --foreground -s INT 7 script -qec '${berth} sessions list --watch' /dev/null`;
    const watched = await host.asRoot(['sh', '-c', watch]);
    const shown = watched.stdout.toString().split('\u001b[H\u001b[2J\u001b[3J').slice(1);
    expect(shown.length).toBeGreaterThan(1);
    for (const text of shown.slice(0, -1))
      expect(text).toMatch(/^ID +USER .*\r\n\d+\.\d+ +ada [^\n]*\n$/);
    expect((await host.asRoot(['pgrep', '-f', 'sessions list --watch'])).stdout.toString()).toBe(
      '',
    );

    expect(await berthOn(host, ['sessions', 'list', '--watch'])).toMatchObject({
      ...{ code: 64, out: '' },
      err: expect.stringContaining('--watch needs a terminal') as unknown,
    });
    const early = `(${berth} sessions list; echo $? >&3) 3>&2 | true`;
    const { stderr } = await host.asRoot(['bash', '-c', early]);
    expect(stderr).toBe('141\n');
    await berthOn(host, ['sessions', 'end', 'ada']);
    expect(await ada.exitCode()).toBe(255);
  });

  it('are ended with a mistake in ssh.yml, and what it keeps from being cleaned up is reported', async () => {
    const ada = await withTerminal('ada', 'cat');
    await host.asRoot(['mv', '/etc/berth/ssh.yml', '/etc/berth/ssh.yml.away']);
    const { code, out, err } = await berthOn(host, ['sessions', 'end', '--all']);
    await host.asRoot(['mv', '/etc/berth/ssh.yml.away', '/etc/berth/ssh.yml']);
    expect(await ada.exitCode()).toBe(255);
    expect(out).toMatch(/^ended \d+\.\d+ of ada\n$/);
    expect(err).toContain('ssh.yml');
    expect([0, 75]).toContain(code);
    expect((await host.asRoot([berth, 'reap'])).exitCode).toBe(0);
    expect(await listed(host)).toEqual([]);
  });

  it('of another user are not written to, whatever terminal a user pretends to have', async () => {
    const bob = await withTerminal('bob', 'cat');
    // Another instance of devpts, whose first terminal has the number of bob's, as the controlling one of what sshd started.
    const program = `$SIG{HUP} = "IGNORE"; $| = 1; my $at = "$ENV{HOME}/pts"; my $zero = pack("i", 0);
      open(T, "+<", "/dev/tty") or die; ioctl(T, 0x5422, 0) or die "TIOCNOTTY $!"; mkdir $at;
      system("mount", "-t", "devpts", "-o", "newinstance,ptmxmode=0666", "devpts", $at) == 0 or die;
      sysopen(M, "$at/ptmx", 0x102) or die "ptmx $!"; ioctl(M, 0x40045431, $zero) or die "TIOCSPTLCK $!";
      sysopen(S, "$at/0", 0x102) or die "pts $!"; ioctl(S, 0x540e, 0) or die "TIOCSCTTY $!";
      print "planted\n"; sleep 9000;`;
    const ada = await withTerminal('ada', `exec unshare -Urm perl -e '${program}'`);
    await ada.waitForOutput('planted');
    const all = await listed(host);
    expect(all.map(({ backend }) => backend)).toEqual(['host', 'host']);
    expect(all.find(({ user }) => user === 'bob')?.terminals).toEqual(['/dev/pts/0']);
    expect(all.find(({ user }) => user === 'ada')?.terminals).toEqual([]);
    await berthOn(host, ['sessions', 'end', 'ada', '--message', 'for ada only']);
    await berthOn(host, ['sessions', 'end', 'bob', '--message', 'for bob']);
    expect(await bob.exitCode()).toBe(255);
    expect(bob.output).toContain('for bob');
    expect(bob.output).not.toContain('for ada only');
    await ada.kill();
  });

  it('and others are told on standard error that they end now, whatever their user makes of that', async () => {
    const quiet = await LiveSession.startReady(host, 'bob', 'cat');
    const file = '/run/of-root';
    await host.asRoot(['sh', '-c', `echo kept >${file}`]);
    // Root's file, open to read only.
    const hostile = await LiveSession.startReady(host, 'ada', `exec sleep 9000 2<${file}`);
    await berthOn(host, ['sessions', 'end', '--all', '--message', 'for all']);
    expect(await quiet.outputAtEnd()).toMatch(
      /^ready\n\*\*\* This session ends now\. for all \*\*\*\n/,
    );
    expect(quiet.stdout).toBe('ready\n');
    expect(await hostile.outputAtEnd()).not.toContain('for all');
    expect((await host.asRoot(['cat', file])).stdout.toString()).toBe('kept\n');
  });

  it('are idle while their client sends nothing, whatever their user makes of the terminal', async () => {
    const ada = await withTerminal(
      ...(['ada', 'while :; do touch -a -d "+1 day" "$(tty)"; sleep 0.2; done'] as const),
    );
    await expect.poll(() => listed(host, '--idle-over', '4s')).toMatchObject([{ user: 'ada' }]);
    ada.client.stdin?.write('x\n');
    await ada.waitForOutput('x');
    expect(await listed(host, '--idle-over', '4s')).toEqual([]);
    await ada.kill();
  });

  it('have the ends of their connection, whatever another user and they themselves do', async () => {
    const opened = async (): Promise<string> => {
      const before = (await host.log()).length;
      const ada = await withTerminal('ada', 'echo "<$SSH_CONNECTION>"; cat');
      await ada.kill();
      const [, line = ''] =
        /session opened" user=ada (.*)/.exec((await host.log()).slice(before)) ?? [];
      expect(line).toMatch(new RegExp(`peer=127\\.0\\.0\\.1:\\d+ port=${host.port}$`));
      return line;
    };
    const { home, uid, gid } = host.account('ada');
    const file = host.path(`${home}/.pam_environment`);
    await writeFile(file, 'SSH_CONNECTION DEFAULT="192.0.2.66 1 192.0.2.1 22"\n');
    await chown(file, uid, gid);
    await opened();
    await rm(file);

    const program = `use Socket; $| = 1; for my $k (2..5) { next if fork;
      my @all; socket(my $l, PF_INET, SOCK_STREAM, 0); listen($l, 100); my $to = pack_sockaddr_in((unpack_sockaddr_in(getsockname($l)))[0], INADDR_LOOPBACK);
      for (1..7500) { socket(my $c, PF_INET, SOCK_STREAM, 0); bind($c, pack_sockaddr_in(0, inet_aton("127.0.0.$k")));
        connect($c, $to) or die "$!"; accept(my $s, $l) or die "$!"; push @all, $c, $s }
      print "full$k\n"; sleep 9000 }; sleep 9000`;
    const bob = await withTerminal('bob', `ulimit -n 20000; exec perl -e '${program}'`);
    for (const child of [2, 3, 4, 5]) await bob.waitForOutput(`full${child}`);
    await opened();
    expect(await host.log()).not.toContain('too many TCP connections');
    await bob.kill();
  });

  it('have their client’s address behind a balancer, from its log', async () => {
    const balancer = await HaproxyInFront.start(host);
    const front = Object.assign(Object.create(host) as SshHost, { port: balancer.port });
    const ada = await withTerminal('ada', 'cat', front);
    const [session] = await expect
      .poll(() => listed(host))
      .toEqual([expect.objectContaining({ via: expect.anything() as unknown })])
      .then(() => listed(host));
    const log = await readFile(host.path('/run/berth-balancer.log'), 'utf8');
    expect(log).toContain(`source_port=${session?.peer?.port ?? 0} `);
    expect(session).toMatchObject({ from: '127.0.0.1', via: session?.peer });
    expect(await host.log()).toMatch(
      new RegExp(
        `msg="session opened" user=ada .*peer=127\\.0\\.0\\.1:${session?.peer?.port ?? 0} port=${host.port}`,
      ),
    );

    // A user cannot write into that file, and root does not read one that users can write.
    await host.asUser('bob', ['logger', '-t', 'haproxy', 'client=192.0.2.66 client_port=1 node=x']);
    expect(await readFile(host.path('/run/berth-balancer.log'), 'utf8')).toBe(log);
    await host.asRoot(['chmod', '666', '/run/berth-balancer.log']);
    const bob = await withTerminal('bob', 'cat');
    expect((await berthOn(host, ['sessions', 'list'])).err).toContain('[balancer-log-unsafe]');
    await host.asRoot(['chmod', '640', '/run/berth-balancer.log']);
    expect((await berthOn(host, ['sessions', 'list'])).err).toBe('');
    // A site's own log-format.
    await host.asRoot(['sed', '-i', 's/ source_port=/ port=/', '/run/berth-balancer.log']);
    expect((await berthOn(host, ['sessions', 'list'])).err).toContain(
      'no line of /run/berth-balancer.log has a form that Berth knows',
    );
    await ada.kill();
    await bob.kill();
    await balancer.stop();
  });
});
