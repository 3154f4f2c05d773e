import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { assertSuccess } from '../../../src/companions/verify/expect.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { type SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { SlurmSite } from '../../rig/slurm/slurm-site.ts';

const alice = 'gate-alice';
const mallory = 'gate-mallory';

describe('a stranger at the port of a job', () => {
  let site: SlurmSite;

  beforeAll(async () => {
    site = await SlurmSite.start(
      {
        ...{ mode: 'forced', users: { [alice]: [], [mallory]: [] } },
        profiles: {
          base: {
            ...{ ...standardProfile, backend: 'slurm', lifetime: 'user', grace: '2s' },
            limits: { cpus: 1, memory: '240M' },
          },
        },
      },
      2,
    );
    const { BERTH_TEST_SSHD: sshd } = process.env;
    if (sshd === undefined) return;
    for (const one of site.nodes)
      assertSuccess('mount', await one.asRoot(['mount', '--bind', sshd, '/usr/sbin/sshd']));
  });
  afterAll(() => site.stop());

  /** A session of alice, and the gate of its job. */
  let session: LiveSession;
  let node: SshHost;
  let port: number;
  let job: string;
  let allocation: string;
  beforeEach(async () => {
    session = LiveSession.start(site.login, alice, ['echo job $SLURM_JOB_ID $(hostname) .; cat']);
    await session.waitForOutput(' .\n');
    const [, id = '', host] = /job (\d+) (\S+)/.exec(session.output) ?? [];
    const found = site.nodes.find(({ name }) => name === host);
    if (found === undefined) throw new Error(`no node ${host}`);
    [node, job] = [found, id];
    const all = `${site.login.account(alice).home}/.local/state/berth/allocations`;
    allocation = await as(alice, `dirname ${all}/*/port`);
    port = Number(await as(alice, `cat ${allocation}/port`));
  });
  afterEach(async () => {
    await session.kill();
    await site.slurm.as(alice, ['scancel', '--me']);
    await noJobs();
  });

  const as = async (user: string, script: string): Promise<string> => {
    const { stdout, stderr, exitCode } = await site.login.asUser(user, ['sh', '-c', script]);
    expect(exitCode, stderr).toBe(0);
    return stdout.toString().trim();
  };
  const jobs = async (): Promise<string> =>
    (await site.slurm.as(alice, ['squeue', '--me', '-h', '-o', '%i'])).stdout.toString();
  const noJobs = () => expect.poll(jobs, { timeout: 90_000, interval: 200 }).toBe('');
  /** What the gate says to somebody who says this, until it closes the connection, or says something. */
  const answer = async (word: string): Promise<string> => {
    const connection = connect({ host: node.address, port });
    connection.on('error', () => undefined).write(word);
    let said = '';
    connection.on('data', (bytes: Buffer) => {
      said += bytes.toString('latin1');
      connection.destroy();
    });
    await new Promise((resolve) => connection.on('close', resolve));
    return said;
  };
  /** Starts a program in Python as mallory on a node. */
  const asStranger = async (program: string, at: SshHost) => {
    const run = 'nohup python3 -I -c "$0" </dev/null >stranger-$1 2>&1 & echo $!';
    const as = async (script: string, ...args: string[]): Promise<string> =>
      (await at.asUser(mallory, ['sh', '-c', script, ...args])).stdout.toString().trim();
    const pid = await as(run, program, at.name);
    return {
      end: () => as(`kill ${pid}`),
      said: (text: string): Promise<string> =>
        waitFor({ what: `the stranger to say ${text}`, timeoutMs: 60_000 }, async () => {
          const output = await as(`cat stranger-${at.name}`);
          return output.includes(text) ? output : undefined;
        }),
    };
  };

  it('sends nothing to a stranger that listens on the port of the job, and what it hears opens no gate', async () => {
    // Hears the word, and then is an sshd that accepts every key, as far as OpenSSH can.
    const trap = `import os, socket, subprocess
os.chdir(os.environ["HOME"])
subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "host"], check=True)
s = socket.create_server(("", 29998))
print("listening", flush=True)
c = s.accept()[0]
c.settimeout(10)
print("heard", c.recv(104, socket.MSG_WAITALL).decode("latin1"), flush=True)
c.settimeout(None)
options = ["UsePAM=no", "StrictModes=no", "LogLevel=VERBOSE", "HostKey=" + os.getcwd() + "/host"]
sshd = ["/usr/sbin/sshd", "-i", "-f", "/dev/null", "-E", os.getcwd() + "/log"]
subprocess.run(sshd + [word for option in options for word in ("-o", option)], stdin=c, stdout=c)
print(open("log").read(), "ended", flush=True)`;
    const stranger = await asStranger(trap, node);
    await stranger.said('listening');
    await as(alice, `echo 29998 >${allocation}/port`);
    const { exitCode, stderr } = await site.login.ssh(alice, ['true']);
    expect([exitCode, stderr]).toEqual([
      255,
      expect.stringMatching(/Host key verification failed.*\[slurm-connection-lost,/),
    ]);
    const all = await stranger.said('ended');
    expect(all).not.toMatch(/Accepted|Postponed|Failed publickey/);
    const [, heard = ''] = /heard (.*)/.exec(all) ?? [];
    expect(heard).toMatch(/^[0-9a-f]{104}$/);
    expect(await answer(heard)).toBe('');
  });

  it('opens its gate once with each word, and to no other', async () => {
    const key = await readFile(site.login.path(`${allocation}/client`));
    const word = (time: number, { at = port, secret = key } = {}): string => {
      const said = Math.floor(time).toString(16).padStart(8, '0') + randomBytes(16).toString('hex');
      return said + createHmac('sha256', secret).update(`${at} ${said}`).digest('hex');
    };
    const now = Date.now() / 1000;
    const good = word(now);
    expect(await answer(good)).toMatch(/^SSH-2\.0-/);
    for (const [why, other] of Object.entries({
      again: good,
      'too old': word(now - 400),
      'of the future': word(now + 400),
      'for another port': word(now, { at: port + 1 }),
      'with another key': word(now, { secret: randomBytes(32) }),
      'no word': 'SSH-2.0-stranger'.padEnd(200, '.'),
    }))
      expect(await answer(other), why).toBe('');
  });

  it('1,000 connections of a stranger take neither its memory nor its sessions, and no login waits for them', async () => {
    const { uid } = site.login.account(alice);
    const slurmNode = site.slurm.nodes[site.nodes.indexOf(node)] ?? '';
    const cgroup = `/sys/fs/cgroup/memory/slurm_${slurmNode}/uid_${uid}/job_${job}`;
    const memory = async (): Promise<number> =>
      Number(await readFile(`${cgroup}/memory.usage_in_bytes`, 'utf8'));
    const login = async (): Promise<number> => {
      const began = performance.now();
      const { exitCode, stderr } = await site.login.ssh(alice, ['true']);
      expect([exitCode, stderr]).toEqual([0, '']);
      return performance.now() - began;
    };
    const logins = async (): Promise<number> => {
      const times = [await login(), await login(), await login()];
      return times.sort((one, other) => one - other)[1] ?? NaN;
    };
    const quiet = await logins();
    const before = await memory();
    let made = 0;
    const strangers = new Set<Socket>();
    const come = (greets: boolean): void => {
      const stranger = connect({ host: node.address, port });
      strangers.add(stranger);
      stranger.on('connect', () => (made += 1)).on('error', () => undefined);
      if (greets) stranger.write('SSH-2.0-stranger\r\n');
      stranger.on('close', () => strangers.delete(stranger) && setTimeout(come, 500, greets));
    };
    for (let count = 0; count < 1000; count += 1) come(count % 2 === 0);
    await expect.poll(() => made).toBeGreaterThanOrEqual(1000);
    const costs = (await memory()) - before;
    const busy = await logins();
    const most = Math.max(costs, (await memory()) - before);
    console.log(
      `${made} connections of strangers: ${Math.round(most / 1024)} KiB; a login ${Math.round(quiet)} ms without, ${Math.round(busy)} ms with them`,
    );
    expect(most).toBeLessThan(32 * 1024 * 1024);
    expect(busy).toBeLessThan(quiet + 1000);
    session.client.stdin?.write('still here\n');
    await session.waitForOutput('still here');
    for (const stranger of strangers) stranger.removeAllListeners('close').destroy();
  });

  it("starts where a stranger listens on all ports that are meant for it, at one of the node's addresses", async () => {
    const hog = `import resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (12000, 12000))
held = []
for port in range(20000, 30000):
    s = socket.socket()
    try:
        s.bind((ADDRESS, port)); s.listen(); held.append(s)
    except OSError: pass
print("holds", len(held), flush=True)
while True: held[0].accept()`;
    await site.slurm.as(alice, ['scancel', '--me']);
    await noJobs();
    const hogs = await Promise.all(
      site.nodes.map((at) => asStranger(hog.replace('ADDRESS', JSON.stringify(at.address)), at)),
    );
    for (const one of hogs) await one.said('holds');
    const { exitCode, stdout, stderr } = await site.login.ssh(alice, ['id -un']);
    expect([exitCode, stdout.toString(), stderr]).toEqual([0, `${alice}\n`, '']);
    for (const one of hogs) await one.end();
  });

  it('is not kept in use by somebody who sends a greeting and nothing more', async () => {
    const strangers: Socket[] = [];
    const greet = (): Socket => {
      const stranger = connect({ host: node.address, port });
      strangers.push(stranger);
      // It is closed after a while.
      stranger.on('error', () => undefined).on('close', greet);
      stranger.write('SSH-2.0-stranger\r\n');
      return stranger;
    };
    await once(greet(), 'connect');
    await session.kill();
    await expect.poll(jobs, { timeout: 90_000, interval: 200 }).toBe('');
    for (const stranger of strangers) stranger.removeAllListeners('close').destroy();
  });
});
