import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { pythonEnvironment } from '../../rig/python-environment.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';

const user = 'app-ann';
const apps = '/var/www/ood/apps/sys';
const notebook = { ...standardProfile, pull: 'missing', backend: 'pod', lifetime: '8h' };
const login = {
  ...standardProfile,
  mounts: [{ source: '$HOME' }, { source: '/opt/jupyter', read_only: true }],
  environment: {
    set: { PYTHONPATH: '/opt/jupyter', PATH: '/opt/jupyter/bin:/usr/local/bin:/usr/bin:/bin' },
  },
};

/** What ood_core's basic template defines before it sources before.sh, and what it does afterwards. */
const job = `set -e
cd session
for file in before script; do
  ruby -rerb -e 'print ERB.new(STDIN.read, trim_mode: "-").result' <"$1/template/$file.sh.erb" >$file.sh
done
cp "$1"/template/*.py .
host=127.0.0.1
find_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'; }
create_passwd() { tr -cd a-zA-Z0-9 </dev/urandom | head -c "$1"; }
source before.sh
bash ./script.sh &
(umask 077; echo "$host $port $password" >connection)
wait
`;

let host: SshHost;
const written: string[] = [];

beforeAll(async () => {
  await ensurePackages(['ruby', 'curl']);
  const requirements = new URL('../../rig/ondemand/requirements.txt', import.meta.url).pathname;
  const environment = await pythonEnvironment('jupyter', requirements);
  host = await SshHost.start({
    mode: 'plain',
    users: { [user]: [] },
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

describe('an app that runs in a job', () => {
  it('is written by the command of the page, beside one for pods', () => {
    expect(written).toHaveLength(4);
    expect(written[0]).toContain('submit.yml.erb: new');
    expect(written[1]).toContain('template/script.sh.erb: new');
  });

  it("is Jupyter in the profile's image, and lets in who has the password", async () => {
    await host.asUser(user, ['mkdir', 'session']);
    const running = host.asUser(user, ['bash', '-c', job, 'bash', `${apps}/berth-jupyter-job`]);
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
    await waitFor({ what: 'Jupyter', timeoutMs: 60_000, everyMs: 300 }, async () =>
      (await answer('/api')) === '200' ? true : undefined,
    );

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
