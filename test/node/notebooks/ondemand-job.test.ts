import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../rig/free-ports.ts';
import { runInKernel } from '../../rig/jupyterhub/hub-user.ts';
import { takePort } from '../../rig/jupyterhub/take-port.ts';
import { listeningPorts } from '../../rig/login-node/listening-ports.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { pythonEnvironment } from '../../rig/python-environment.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';

const user = 'app-ann';
const other = 'app-bob';
const apps = '/var/www/ood/apps/sys';
const notebook = { ...standardProfile, pull: 'missing', backend: 'pod', lifetime: '8h' };
const login = {
  ...standardProfile,
  mounts: [{ source: '$HOME' }, { source: '/opt/jupyter', read_only: true }],
  environment: {
    set: { PYTHONPATH: '/opt/jupyter', PATH: '/opt/jupyter/bin:/usr/local/bin:/usr/bin:/bin' },
  },
};

/**
 * What ood_core's basic template defines before it sources before.sh and after.sh, and what it does afterwards.
 * Arguments: the app, the session's directory, the port that find_port finds, and the script.
 */
const job = `set -e
mkdir "$2"
cd "$2"
for file in before script after; do
  ruby -rerb -e 'print ERB.new(STDIN.read, trim_mode: "-").result' <"$1/template/$file.sh.erb" >$file.sh
done
cp "$1"/template/*.py .
exec >output.log 2>&1
set +e
host=127.0.0.1 free=$3 script=$4
find_port() { echo "$free"; }
create_passwd() { tr -cd a-zA-Z0-9 </dev/urandom | head -c "$1"; }
clean_up() {
  pkill -P "$SCRIPT_PID"
  pkill -P $$
  exit "\${1:-0}"
}
source before.sh
bash "$script" &
SCRIPT_PID=$!
source after.sh
(umask 077; echo "$host $port $password" >connection)
wait "$SCRIPT_PID" || clean_up 1
clean_up
`;

let host: SshHost;
const written: string[] = [];

beforeAll(async () => {
  await ensurePackages(['ruby', 'curl']);
  const requirements = new URL('../../rig/ondemand/requirements.txt', import.meta.url).pathname;
  const environment = await pythonEnvironment('jupyter', requirements);
  host = await SshHost.start({
    mode: 'plain',
    users: { [user]: [], [other]: [] },
    profiles: { notebook, login },
  });
  const setup = `mkdir -p /opt/jupyter && mount --bind ${environment} /opt/jupyter &&
    mount -t tmpfs -o mode=755 tmpfs /var/www && mkdir -p ${apps}`;
  await asRoot(['sh', '-c', setup]);
  const blocks = codeBlocks('docs/ondemand-apps.md').filter(({ language }) => language === 'sh');
  for (const line of blocks.flatMap(({ text }) => text.trim().split('\n'))) {
    const command = line.replace('/usr/lib/berth', installDirectory);
    written.push(await asRoot(['sh', '-c', `PATH=${installDirectory}:$PATH; ${command}`]));
  }
});
afterAll(() => host.stop());

async function asRoot(argv: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await host.asRoot(argv);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout.toString();
}

/** Runs the job of a session, as OnDemand's script. @returns how it ended */
function runJob(session: string, port: number, script = './script.sh') {
  const words = [`${apps}/berth-jupyter-job`, session, `${port}`, script];
  return host.asUser(user, ['bash', '-c', job, 'bash', ...words]);
}

/** What a job says that ends without a connection file. */
async function endOf(session: string, port: number, script?: string): Promise<string> {
  expect((await runJob(session, port, script)).exitCode).toBe(1);
  const directory = `${host.account(user).home}/${session}`;
  expect(await asRoot(['ls', directory])).not.toContain('connection');
  return asRoot(['cat', `${directory}/output.log`]);
}

/** Logs in and runs Python in a new kernel, as the server's page does. */
async function runCell(url: string, password: string, code: string): Promise<string> {
  const body = new URLSearchParams({ password });
  const login = await fetch(`${url}/login`, { method: 'POST', body, redirect: 'manual' });
  const cookies = login.headers.getSetCookie().map((one) => one.replace(/;.*/, ''));
  // No other page could send the same text in a cookie and in a header.
  const headers = { cookie: [...cookies, '_xsrf=x'].join('; '), 'x-xsrftoken': 'x' };
  const kernel = await fetch(`${url}/api/kernels`, { method: 'POST', headers, body: '{}' });
  const { id } = (await kernel.json()) as { id: string };
  const channels = `${url.replace('http', 'ws')}/api/kernels/${id}/channels`;
  return runInKernel(channels, code, headers);
}

describe('an app that runs in a job', () => {
  it('is written by the command of the page, beside one for pods', () => {
    expect(written).toHaveLength(4);
    expect(written[0]).toContain('submit.yml.erb: new');
    expect(written[1]).toContain('template/script.sh.erb: new');
  });

  it('ends if another user of the node has its port, and the portal does not learn of that', async () => {
    const { port } = await freePorts(['port']);
    const taker = await takePort(host, other, port, 1);
    expect(await taker.outcome).toBe('listening');
    expect(await endOf('taken', port)).toContain(
      `berth: cannot start the server at port ${port}: somebody else listens there (UID ${host.account(other).uid})\n`,
    );
    expect(await taker.end()).toEqual([]);
  });

  it('ends if its server has ended, and says so', async () => {
    const { port } = await freePorts(['port']);
    expect(await endOf('ended', port, '/dev/null')).toContain(
      `berth: cannot start the server at port ${port}: it has ended\n`,
    );
  });

  it("is Jupyter in the profile's image, and lets in who has the password", async () => {
    const { port: free } = await freePorts(['port']);
    const running = runJob('session', free);
    const connection = `${host.account(user).home}/session/connection`;
    const [address, port, password = ''] = await waitFor(
      { what: 'the connection file', timeoutMs: 60_000 },
      async () => {
        const { exitCode, stdout } = await host.asRoot(['cat', connection]);
        return exitCode === 0 ? stdout.toString().trim().split(' ') : undefined;
      },
    );
    const url = `http://127.0.0.1:${port}/node/${address}/${port}`;
    const answer = async (path: string, ...options: string[]): Promise<string> => {
      const argv = ['--silent', '--output', '/dev/null', '--write-out', '%{http_code}', ...options];
      return (await execa('curl', [...argv, url + path], { reject: false })).stdout;
    };
    const jar = `${host.directory}/cookies`;
    expect(await answer('/api')).toBe('200');

    // Nobody else of the node can listen at its other addresses, to which the name of the node may lead the portal.
    const taker = `import socket
s = socket.socket(socket.AF_INET6)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
s.bind(("::", ${port}))`;
    const { stderr } = await host.asRoot(['python3', '-c', taker]);
    expect(stderr).toContain('Address already in use');

    expect(await answer('/api/contents')).toBe('403');
    expect(await answer('/login', '--data', 'password=wrong')).toBe('401');
    expect(await answer('/login', '--data', `password=${password}`, '--cookie-jar', jar)).toBe(
      '302',
    );
    expect(await answer('/api/contents/session', '--cookie', jar)).toBe('200');
    // Another page of the portal cannot write with the user's cookie.
    expect(await answer('/api/contents', '--cookie', jar, '--request', 'POST')).toBe('403');

    expect(await runCell(url, password, 'print(6 * 7)')).toBe('42\n');
    // Of the server, and one that ipykernel has for the output of forked processes: it takes only messages with its key.
    expect(await listeningPorts(host, user)).toHaveLength(2);

    const seen = `for p in $(pgrep -u ${user}); do tr '\\0' '\\n' </proc/$p/cmdline; cat /proc/$p/environ; done`;
    const { stdout } = await host.asRoot(['sh', '-c', seen]);
    expect(stdout.toString()).toContain('--config=/ood/jupyter_server_config.py');
    expect(stdout.toString()).not.toContain(password);

    await host.asRoot(['pkill', '-TERM', '-u', user]);
    await running;
    // But for podman's pause process, which two podman that end at once may leave: Slurm ends it with the job's cgroup
    // (test/node/slurm/render-sbatch.test.ts).
    const left = [
      'sh',
      '-c',
      `pgrep -a -u ${user} | grep -v 'catatonit -P'; find /tmp -maxdepth 1 -name 'berth-job-*' -user ${user}`,
    ];
    const removed = expect.poll(async () => (await host.asRoot(left)).stdout.toString(), {
      timeout: 60_000,
    });
    await removed.toBe('');
  });
});
