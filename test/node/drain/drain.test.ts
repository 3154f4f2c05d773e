import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';
import type { LiveSession } from '../../rig/login-node/live-session.ts';
import { SystemdNode } from './systemd-node.ts';

const supported = existsSync('/lib/systemd/systemd');

describe.skipIf(!supported)('a node with systemd', () => {
  let node: SystemdNode;
  beforeAll(async () => {
    // Sessions are plain shells: what is tested are the connections.
    node = await SystemdNode.start(['alpha', 'beta', 'gamma'], {
      ...{ mode: 'plain', users: { ada: [], bob: [] } },
      pam: `session optional pam_exec.so quiet ${installDirectory}/hooks/pam-session`,
    });
    // Like a kind that an admin has stopped: it is not drain's to start.
    await node.run(['systemctl', 'stop', 'berth-sshd@gamma']);
  });
  afterAll(() => node.stop());

  const berth = async (
    ...args: string[]
  ): Promise<{ code: number | undefined; out: string; err: string }> => {
    const { exitCode, stdout, stderr } = await node.run([`${installDirectory}/berth`, ...args]);
    return { code: exitCode, out: stdout.toString(), err: stderr };
  };
  const answering = async (): Promise<string[]> => {
    const found: string[] = [];
    for (const [kind, port] of Object.entries(node.ports))
      if (await answers(port)) found.push(kind);
    return found.sort();
  };
  const recorded = (): Promise<string> => readFile(node.host.path('/etc/berth/drain'), 'utf8');

  it('drained takes no new connections, keeps the open ones, and starts what it stopped', async () => {
    expect(await answering()).toEqual(['alpha', 'beta']);
    const ada = await node.session('alpha', 'ada', 'read line; echo "<$line>"; sleep 9000');

    const drained = await berth(
      'node',
      'drain',
      '--reason',
      'new\u001b kernel',
      '--message',
      'Bye',
    );
    expect(drained).toMatchObject({ code: 0, err: '' });
    expect(drained.out).toMatch(
      /^drained: no new connections at berth-sshd@.*; open sessions: 1\nnext: `berth node undrain` takes .*\n$/,
    );
    expect(await answering()).toEqual([]);
    await ada.waitForOutput('*** This node is being taken out of service. Bye ***');
    ada.client.stdin?.write('still here\r');
    await ada.waitForOutput('<still here>');
    expect((await berth('sessions', 'list', '-o', 'wide', '--no-headers')).out).toMatch(
      /^\d+\.\d+ +ada .* berth-sshd@alpha\.service +\d+$/m,
    );

    // A restart of the host, or an admin's mistake: systemd starts no listener.
    await node.run(['systemctl', 'start', 'berth-sshd@alpha']);
    expect(await answering()).toEqual([]);
    expect((await berth('node', 'status')).out).toMatch(
      /^drained since .* by root\nreason: new\\u\{1b\} kernel\nberth-sshd@alpha\.service: inactive, enabled\n/,
    );

    // Twice is as once, and the first record stays.
    const before = JSON.parse(await recorded()) as { units: unknown };
    expect(await berth('node', 'drain')).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(await recorded())).toMatchObject({ units: before.units });

    expect(await berth('node', 'undrain')).toMatchObject({ code: 0, err: '' });
    expect(await answering()).toEqual(['alpha', 'beta']);
    expect((await berth('node', 'undrain')).out).toBe(
      'this node is not drained; nothing was done\n',
    );
    await ended(ada);
  });

  it('says with --dry-run what drain and undrain would do, and does nothing', async () => {
    const ada = await node.session('alpha', 'ada', 'sleep 9000');
    const state = async (): Promise<string> => {
      const files = await node.run(['find', '/etc/berth', '/run/berth', '-printf', '%p %T@\n']);
      return files.stdout.toString() + String(await answering());
    };
    const before = await state();
    const words = ['--deadline', '1s', '--message', 'Bye', '--dry-run'];
    expect(await berth('node', 'drain', ...words)).toEqual({
      code: 0,
      out: 'would stop berth-sshd@alpha.service, berth-sshd@beta.service; open sessions: 1\na message would be sent to the open sessions\nsessions still open after 1 s would be ended\n',
      err: 'dry run: nothing was changed\n',
    });
    expect(ada.output).not.toContain('Bye');
    expect((await berth('node', 'undrain', '--dry-run')).out).toBe('this node is not drained\n');
    expect(await state()).toBe(before);

    await berth('node', 'drain');
    const drained = await state();
    expect(await berth('node', 'undrain', '--dry-run')).toEqual({
      code: 0,
      out: 'would start berth-sshd@alpha.service, berth-sshd@beta.service\n',
      err: 'dry run: nothing was changed\n',
    });
    expect(await state()).toBe(drained);
    expect(await berth('node', 'undrain')).toMatchObject({ code: 0, err: '' });
    await ended(ada);
  });

  it('ends what is left at the deadline, and tells who is there', async () => {
    const bob = await node.session('beta', 'bob', 'sleep 9000');
    const drained = await berth('node', 'drain', '--deadline', '3s');
    expect(drained).toMatchObject({ code: 0, err: '' });
    expect(drained.out).toMatch(/ended \d+\.\d+ of bob\nno session is left\n$/);
    expect(await bob.exitCode()).toBe(255);
    expect(bob.output).toContain('Sessions end in 3 s.');
    await berth('node', 'undrain');
  });

  it('shows the message to all sessions before the shortest deadline ends them', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 8 }, () => node.session('beta', 'bob', 'sleep 9000')),
    );
    const drained = await berth('node', 'drain', '--deadline', '1s', '--message', 'Back at two');
    expect(drained).toMatchObject({ code: 0, err: '' });
    for (const session of sessions)
      expect(await session.outputAtEnd()).toContain('Sessions end in 1 s. Back at two ***');
    await berth('node', 'undrain');
  });

  it('drains and waits with a mistake in ssh.yml, and says once that nobody was told', async () => {
    const bob = await node.session('beta', 'bob', 'sleep 6');
    await shell('mv /etc/berth/ssh.yml /etc/berth/ssh.yml.away');
    const drained = await berth('node', 'drain', '--wait', '--message', 'Bye');
    await shell('mv /etc/berth/ssh.yml.away /etc/berth/ssh.yml');
    expect(drained).toMatchObject({
      code: 0,
      out: expect.stringMatching(/no session is left\n$/) as unknown,
    });
    expect(drained.err.match(/no session was told/g)).toHaveLength(1);
    expect(drained.err.match(/^next: /gm)).toHaveLength(1);
    expect(await bob.exitCode()).toBe(0);
    expect(await berth('node', 'undrain')).toMatchObject({ code: 0, err: '' });
  });

  it('does not start what was disabled since, and says so', async () => {
    await berth('node', 'drain');
    await node.run(['rm', '/etc/systemd/system/multi-user.target.wants/berth-sshd@beta.service']);
    await node.run(['systemctl', 'daemon-reload']);
    const { code, err } = await berth('node', 'undrain');
    expect({ code, err }).toEqual({
      code: 0,
      err: 'not started: berth-sshd@beta.service, which was disabled since the drain; to start it: systemctl enable --now berth-sshd@beta.service\n',
    });
    expect(await answering()).toEqual(['alpha']);
    await node.run(['systemctl', 'start', 'berth-sshd@beta']);
  });

  it('with a file that an admin wrote stays out of service until it is undrained', async () => {
    await node.run([
      'sh',
      '-c',
      'echo maintenance >/etc/berth/drain; systemctl stop berth-sshd@alpha',
    ]);
    expect((await berth('node', 'status')).out).toMatch(/^drained\nberth-sshd@alpha.*: inactive/);
    // Nobody recorded what ran: what starts at boot is started.
    expect(await berth('node', 'undrain')).toMatchObject({
      ...{ code: 0, err: '' },
      out: 'in service again: started berth-sshd@alpha.service, berth-sshd@gamma.service\n',
    });
    await node.run(['systemctl', 'stop', 'berth-sshd@gamma']);
  });

  it('killed at any moment, is repaired by the next drain or undrain', async () => {
    for (const args of [
      ['node', 'drain'],
      ['node', 'undrain'],
      ['node', 'drain'],
    ])
      for (const afterMs of [60, 120, 180, 240, 300]) {
        const killed = ['timeout', '-s', 'KILL', String(afterMs / 1000)];
        await node.run([...killed, `${installDirectory}/berth`, ...args]);
        if (args[1] === 'drain') {
          expect(await berth('node', 'drain')).toMatchObject({ code: 0, err: '' });
          expect(await answering()).toEqual([]);
        } else await berth('node', 'drain');
        expect(await berth('node', 'undrain')).toMatchObject({ code: 0, err: '' });
        expect(await answering()).toEqual(['alpha', 'beta']);
      }
  });

  it('killed between two of its steps, leaves a state that undrain undoes', async () => {
    const all = ['alpha', 'beta'];
    // Nothing has been written.
    await killedAt('before', 'list-units', 'drain');
    expect([await isRecorded('drain'), await answering()]).toEqual([false, all]);

    // Recorded, and nothing is stopped yet.
    await killedAt('before', 'stop', 'drain');
    expect([await isRecorded('drain'), await answering()]).toEqual([true, all]);
    expect(await berth('node', 'undrain')).toMatchObject({ code: 0, err: '' });
    expect([await isRecorded('drain'), await answering()]).toEqual([false, all]);

    // Stopped, and not said.
    await killedAt('after', 'stop', 'drain');
    expect([await isRecorded('drain'), await answering()]).toEqual([true, []]);

    // The undrain has begun, and nothing is started yet.
    await killedAt('before', 'start', 'undrain');
    expect([await isRecorded('drain'), await isRecorded('drain.undo')]).toEqual([false, true]);
    expect((await berth('node', 'status')).out).toContain('an undrain was interrupted');

    // Started, and the undrain is not yet forgotten.
    await killedAt('after', 'start', 'undrain');
    expect([await isRecorded('drain.undo'), await answering()]).toEqual([true, all]);
    expect(await berth('node', 'undrain')).toMatchObject({ code: 0, err: '' });
    expect([await isRecorded('drain.undo'), await answering()]).toEqual([false, all]);
    expect((await berth('node', 'undrain')).out).toContain('this node is not drained');
  });

  it('twice at once is as once', async () => {
    const both = await Promise.all([berth('node', 'drain'), berth('node', 'drain')]);
    expect(both).toMatchObject([
      { code: 0, err: '' },
      { code: 0, err: '' },
    ]);
    expect(await answering()).toEqual([]);
    const { units } = JSON.parse(await recorded()) as {
      units: { name: string; stopped: boolean }[];
    };
    const stopped = units.filter((unit) => unit.stopped).map(({ name }) => name);
    expect(stopped.sort()).toEqual(['berth-sshd@alpha.service', 'berth-sshd@beta.service']);
    const [one, two] = await Promise.all([berth('node', 'undrain'), berth('node', 'undrain')]);
    expect([one.code, two.code, one.err + two.err]).toEqual([0, 0, '']);
    expect([one.out, two.out].sort()).toEqual([
      'in service again: started berth-sshd@alpha.service, berth-sshd@beta.service\n',
      'this node is not drained; nothing was done\n',
    ]);
    expect(await answering()).toEqual(['alpha', 'beta']);
  });

  it('on a full disk changes nothing, and an undrain needs no space', async () => {
    const fill = 'cat /dev/zero >/etc/berth/filling 2>/dev/null || true';
    await shell(`mkdir /run/small; mount -t tmpfs -o size=256k none /run/small
      cp -a /etc/berth/. /run/small; mount --bind /run/small /etc/berth; ${fill}`);
    const before = await shell('ls -A /etc/berth');
    const refused = await berth('node', 'drain');
    expect(refused.err).toMatch(/\[disk-full\]\nnext: /);
    expect(refused.code).not.toBe(0);
    expect([await shell('ls -A /etc/berth'), await answering()]).toEqual([
      before,
      ['alpha', 'beta'],
    ]);

    await shell('rm /etc/berth/filling');
    expect(await berth('node', 'drain')).toMatchObject({ code: 0, err: '' });
    await shell(fill);
    expect(await berth('node', 'undrain')).toMatchObject({ code: 0, err: '' });
    expect(await answering()).toEqual(['alpha', 'beta']);
    await shell('umount /etc/berth /run/small');
    expect(await isRecorded('drain')).toBe(false);
  });

  const shell = async (script: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await node.run(['sh', '-euc', script]);
    expect([exitCode, stderr]).toEqual([0, '']);
    return stdout.toString();
  };

  const isRecorded = async (name: string): Promise<boolean> =>
    (await node.run(['test', '-e', `/etc/berth/${name}`])).exitCode === 0;

  /** Kills the command right before or after it runs `systemctl VERB`. Nothing else stops it between two steps for sure. */
  async function killedAt(when: 'before' | 'after', verb: string, what: string): Promise<void> {
    const wrapper = `#!/bin/sh
case " $* " in *" ${verb} "*) is=yes ;; esac
[ "$is ${when}" = "yes before" ] && kill -9 $PPID && exit 1
/run/systemctl.real "$@"; code=$?
[ "$is ${when}" = "yes after" ] && kill -9 $PPID
exit $code
`;
    await node.run(['sh', '-c', 'cat >/run/wrapper; chmod +x /run/wrapper'], { input: wrapper });
    await shell(
      'cp /usr/bin/systemctl /run/systemctl.real; mount --bind /run/wrapper /usr/bin/systemctl',
    );
    const { code } = await berth('node', what);
    await shell('umount /usr/bin/systemctl');
    expect(code).not.toBe(0);
  }

  async function ended(session: LiveSession): Promise<void> {
    expect(await berth('sessions', 'end', '--all')).toMatchObject({ code: 0, err: '' });
    expect(await session.exitCode()).toBe(255);
  }
});

/** Whether an sshd sends its banner within a moment. */
async function answers(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
