import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';

interface Answer {
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
}

async function ask(host: SshHost, user: string, ...args: string[]): Promise<Answer> {
  const { exitCode, stdout, stderr } = await host.ssh(user, args);
  return { code: exitCode, out: stdout.toString(), err: stderr };
}

const kept = { ...standardProfile, lifetime: 'user', grace: '5m' } as const;
const options = {
  users: { ada: [], bob: [], cleo: [], dan: [] },
  sshd: 'AcceptEnv BERTH_*',
  sshYml: {
    rules: [
      { profile: 'base', users: ['ada', 'bob'] },
      { profile: 'closed', users: ['dan'] },
      { profile: 'asked', users: ['ada', 'cleo'], on_request: true },
    ],
  },
  profiles: {
    base: kept,
    closed: { ...kept, self_service: false },
    asked: { ...kept, image: 'localhost/absent:1', limits: { memory: '2G' } },
  },
} as const;

describe('what the login answers itself', () => {
  let host: SshHost;

  beforeAll(async () => {
    host = await SshHost.start({ ...options, mode: 'forced' });
  });
  afterAll(() => host.stop());

  it('lists and ends the own containers, and starts none', async () => {
    expect(await ask(host, 'ada', 'berth sessions')).toEqual({
      ...{ code: 0, out: '', err: 'no SSH session of yours has a container, pod or job here\n' },
    });
    expect((await findLeftovers(host, 'ada')).containers).toEqual([]);
    const working = await LiveSession.startReady(host, 'ada', 'cat');
    const second = await LiveSession.startReady(host, 'ada', 'cat');

    const onTerminal = await ask(host, 'ada', '-tt', 'berth sessions');
    expect(onTerminal.out).toMatch(
      /^NAME .*\r\nberth-base +base +podman +running +\d+s +2 +5 min after your last connection\r\n$/,
    );

    // Nobody else's.
    expect((await ask(host, 'bob', 'berth sessions')).err).toMatch(
      /^no SSH session of yours has a container/,
    );
    expect(await ask(host, 'bob', 'berth end berth-base')).toMatchObject({
      ...{ code: 69, out: '' },
      err: expect.stringMatching(
        /no container, pod or job berth-base here \[session-unknown\]/,
      ) as string,
    });
    expect(working.client.exitCode).toBeNull();

    expect(await ask(host, 'ada', 'berth end berth-base')).toEqual({
      ...{ code: 0, out: 'ended podman/berth-base\n', err: '' },
    });
    await working.exitCode();
    await second.exitCode();
    expect(await ask(host, 'ada', 'berth end --all')).toEqual({
      ...{ code: 0, out: '', err: 'you have nothing to end here\n' },
    });
    await expect.poll(() => findLeftovers(host, 'ada')).toEqual(noLeftovers);
  });

  it('says what one may use, also to who gets no session without asking, or whose image is missing', async () => {
    expect((await ask(host, 'ada', 'berth profiles')).out).toMatch(
      /^NAME .*\nbase +yes +podman +localhost\/berth-site:1 .*\nasked +no +podman +localhost\/absent:1 +- +2.0G +- +-\n/,
    );
    expect((await ask(host, 'cleo', 'true')).code).toBe(255);
    expect((await ask(host, 'cleo', 'berth profiles')).out).toMatch(
      /^NAME .*\nasked +no +podman +localhost\/absent:1 .*\n\nTo choose one: ssh -o SetEnv=BERTH_PROFILE=NAME HOST\n$/,
    );
    const asking = ['-o', 'SetEnv=BERTH_PROFILE=asked'];
    expect((await ask(host, 'cleo', ...asking, 'berth sessions')).code).toBe(0);
    expect(await ask(host, 'cleo', 'berth status')).toMatchObject({ code: 0, out: '' });
  });

  it('refuses what a client chooses of a job, where there is none', async () => {
    expect(await ask(host, 'ada', '-o', 'SetEnv=BERTH_TIME=4h', 'true')).toMatchObject({
      code: 255,
      err: expect.stringContaining(
        'BERTH_TIME="4h" is not possible: this profile has no jobs of Slurm [slurm-choice-refused',
      ) as string,
    });
  });

  it('reports a damaged store in a sentence', async () => {
    // It is made for the first connection.
    await ask(host, 'bob', 'berth sessions');
    const { uid } = host.account('bob');
    const list = `/var/lib/berth-ssh/users/${uid}/storage/overlay-containers`;
    const damage = `mkdir -p ${list} && echo x >${list}/containers.json`;
    expect(await host.asUser('bob', ['sh', '-c', damage])).toMatchObject({ exitCode: 0 });
    expect(await ask(host, 'bob', 'berth sessions')).toEqual({
      ...{ code: 74, out: '' },
      err: expect.stringMatching(
        /^berth: podman's list of containers is damaged: .* \[container-store-broken\]\nnext: Please send this line/,
      ) as string,
    });
    await host.asRoot(['rm', '-r', `/var/lib/berth-ssh/users/${uid}/storage`]);
  });

  it('answers 64 with what exists to other words, and help to none', async () => {
    expect(await ask(host, 'ada', 'berth', 'session')).toEqual({
      ...{ code: 64, out: '' },
      err: 'berth: there is no command berth session [usage]\nnext: Commands are sessions, end, profiles, status, help: see `ssh HOST berth help`.\n',
    });
    expect((await ask(host, 'ada', 'berth end')).code).toBe(64);
    expect((await ask(host, 'ada', 'berth sessions --verbose')).code).toBe(64);
    for (const help of ['berth', 'berth help', 'berth --help', 'berth end -h'])
      expect(await ask(host, 'ada', help)).toMatchObject({
        ...{ code: 0, err: '' },
        out: expect.stringMatching(/^Usage: ssh HOST berth COMMAND/) as string,
      });
  });

  it.each([
    ['berth; touch /tmp/seen', 0],
    ['berth;touch /tmp/seen', 0],
    ['berth|touch /tmp/seen', 0],
    ['"berth" sessions', 127],
    [' berth sessions', 127],
    ['command berth sessions', 127],
    ['berth-sessions', 127],
    ['berth $(touch /tmp/seen)', 64],
    ['berth `touch /tmp/seen`', 64],
    ['berth sessions; touch /tmp/seen', 64],
    ['berth sessions | touch /tmp/seen', 64],
    ['berth sessions >/tmp/seen', 64],
    ['berth\ntouch /tmp/seen', 64],
    ['berth\ttouch', 64],
    ["berth end 'berth-base'", 64],
    ['berth end \u001b[2Jx', 64],
    ['berth end ../../etc/passwd', 69],
    ['berth end --config=/etc/passwd', 64],
    ['berth end -- --all', 69],
  ])('evaluates nothing on the host: %j', async (command, code) => {
    const answer = await ask(host, 'ada', command);
    expect(answer.code, answer.err).toBe(code);
    expect(answer.err).not.toContain('\u001b');
    expect((await host.asRoot(['test', '-e', '/tmp/seen'])).exitCode).toBe(1);
  });

  it('leaves the word to the container where the profile says so', async () => {
    expect(await ask(host, 'dan', 'berth sessions')).toMatchObject({ code: 127, out: '' });
  });
});

describe('what the login answers as the login shell, with another word', () => {
  let host: SshHost;

  beforeAll(async () => {
    const sshYml = { ...options.sshYml, self_service: 'my' };
    host = await SshHost.start({ ...options, sshYml, mode: 'login-shell' });
  });
  afterAll(() => host.stop());

  it('is the same', async () => {
    expect((await ask(host, 'ada', 'my sessions')).err).toMatch(
      /^no SSH session of yours has a container/,
    );
    expect((await ask(host, 'ada', 'my')).out).toMatch(/^Usage: ssh HOST my COMMAND/);
    expect((await ask(host, 'ada', 'berth sessions')).code).toBe(127);
  });
});
