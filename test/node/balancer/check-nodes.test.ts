import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { installDirectory } from '../../rig/site/portal.ts';

let directory: string;
let host: SshHost;
const servers: Server[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-check-nodes-'));
  host = await SshHost.start({ mode: 'plain', images: false, users: { ada: [] } });
});
afterAll(async () => {
  for (const server of servers) server.close();
  await host.stop();
  await rm(directory, { recursive: true, force: true });
});

/** A program that is no sshd: it greets a client like this, and waits. @returns its port */
async function otherProgram(greeting: string, address: string): Promise<number> {
  const { port } = await freePorts(['port']);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    if (greeting !== '') socket.write(greeting);
  });
  servers.push(server.listen(port, address));
  await once(server, 'listening');
  return port;
}

/** @param nodes address and port of each kind's only node */
async function check(...nodes: readonly (readonly [string, number])[]) {
  const list = join(directory, 'balancer.yml');
  const systems = nodes.map(([address], index) => ({
    ...{ name: `s${index}`, nodes: [{ name: `n${index}`, address }] },
  }));
  const kinds = nodes.map(([, port], index) => ({
    ...{ name: 'podman', system: `s${index}`, port: 2200 + index, node_port: port },
  }));
  await writeFile(list, JSON.stringify({ hostname: 'login.example.org', systems, kinds }));
  const started = performance.now();
  const { exitCode, stdout, stderr } = await execa(
    join(installDirectory, 'berth'),
    ['render', 'balancer', '--list', list, '--check-nodes'],
    { reject: false },
  );
  return { exitCode, stdout, stderr, seconds: (performance.now() - started) / 1000 };
}

it('warns of each node at which something else answers, and says what came', async () => {
  const web = await otherProgram(
    'HTTP/1.0 400 Bad\u001b[31m Request\r\n\r\n'.padEnd(2000),
    '127.0.0.1',
  );
  const silent = await otherProgram('', '::1');
  const { closed } = await freePorts(['closed']);
  const { exitCode, stdout, stderr, seconds } = await check(
    ['127.0.0.1', host.port],
    ['127.0.0.1', web],
    ['::1', silent],
    ['127.0.0.1', closed],
  );
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`server n1 127.0.0.1:${web}`);
  const lines = stderr.split('\n');
  expect(lines.slice(0, 3)).toEqual([
    expect.stringMatching(
      `^warning: no sshd answers on n1 at 127.0.0.1:${web} \\(s1.podman\\): it said "HTTP/1.0 400 Bad.*31m Request" instead of SSH-2.0-$`,
    ),
    `warning: no sshd answers on n2 at [::1]:${silent} (s2.podman): it accepted, and said nothing for 3 seconds`,
    `warning: no sshd answers on n3 at 127.0.0.1:${closed} (s3.podman): the connection was refused`,
  ]);
  expect(stderr).not.toContain('\u001b');
  expect(lines[3]).toMatch(/^next: /);
  expect(seconds).toBeLessThan(8);
});

it('says nothing if all are sshds, and waits for 200 that are silent at the same time', async () => {
  const real = ['127.0.0.1', host.port] as const;
  expect(await check(real)).toMatchObject({ exitCode: 0, stderr: '' });
  const silent = await otherProgram('', '0.0.0.0');
  const many = Array.from({ length: 200 }, (_, n) => [`127.0.1.${n + 1}`, silent] as const);
  const { stderr, seconds } = await check(real, ...many);
  expect(stderr.match(/^warning: /gm)).toHaveLength(200);
  expect(seconds).toBeLessThan(8);
});
