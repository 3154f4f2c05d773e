import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';

let directory: string;
beforeAll(async () => {
  await ensurePackages(['haproxy', 'iptables', 'iproute2', 'openssh-server', 'openssh-client']);
  directory = await mkdtemp(join(tmpdir(), 'berth-transparent-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** A client, a balancer that is the node's default gateway, and a node, each in a network namespace. */
const network = `
mount -t tmpfs none /run
mkdir /run/netns /run/sshd
for name in client balancer node; do ip netns add $name; ip -n $name link set lo up; done
ip link add east netns client type veth peer name west netns balancer
ip link add inner netns balancer type veth peer name outer netns node
ip -n client addr add 198.51.100.7/24 dev east; ip -n client link set east up
ip -n balancer addr add 198.51.100.1/24 dev west; ip -n balancer link set west up
ip -n balancer addr add 192.0.2.1/24 dev inner; ip -n balancer link set inner up
ip -n node addr add 192.0.2.11/24 dev outer; ip -n node link set outer up
ip -n node route add default via 192.0.2.1
`;

it('with the documented routes, sshd sees the address of a transparent client', async () => {
  const routes = codeBlocks('docs/many-nodes.md').find(({ text }) =>
    text.includes('--transparent'),
  );
  if (routes === undefined) throw new Error('docs/many-nodes.md has no routes');
  const list = join(directory, 'balancer.yml');
  const nodes = [{ name: 'n1', address: '192.0.2.11' }];
  const kind = { name: 'podman', system: 'a', port: 22, node_port: 2222 };
  await writeFile(
    list,
    JSON.stringify({
      hostname: 'login.example.org',
      systems: [{ name: 'a', nodes }],
      kinds: [{ ...kind, client_address: 'transparent' }],
    }),
  );
  const script = `${network}
    cd ${directory}
    ssh-keygen -q -t ed25519 -N '' -f host_key
    ${installDirectory}/berth render balancer --list ${list} > haproxy.cfg
    ip netns exec balancer bash -euc '${routes.text}'
    ip netns exec node /usr/sbin/sshd -f /dev/null -h ${directory}/host_key -p 2222 \\
      -E ${directory}/sshd.log -o LogLevel=VERBOSE -o PidFile=none
    ip netns exec balancer haproxy -D -f haproxy.cfg
    ip netns exec client ssh-keyscan -T 20 198.51.100.1
  `;
  // The processes end with the PID namespace.
  const { exitCode, stdout, stderr } = await execa(
    'unshare',
    ['--net', '--mount', '--pid', '--fork', '--kill-child', 'bash', '-euc', script],
    { reject: false, timeout: 50_000 },
  );
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining('SSH-2.0-OpenSSH')]);
  expect(stdout).toContain('198.51.100.1 ssh-ed25519');
  expect(await readFile(join(directory, 'sshd.log'), 'utf8')).toMatch(
    /Connection from 198\.51\.100\.7 port \d+ on 192\.0\.2\.11 port 2222/,
  );
});
