import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hubEnvironment, hubPackage } from '../../rig/jupyterhub/hub-environment.ts';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { python } from '../../rig/python-environment.ts';
import { ensureAccount } from '../../rig/site/accounts.ts';
import { CertificateAuthority } from '../../rig/site/certificates.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { waitFor } from '../../rig/wait-for.ts';

let directory: string;
let port: number;
const processes: ChildProcess[] = [];
/** What they wrote to standard error. */
const said: string[] = [];

/** haproxy as docs/jupyterhub.md has it, and hub-bootstrap at its socket. */
beforeAll(async () => {
  await ensurePackages(['haproxy', 'socat']);
  directory = await mkdtemp(join(tmpdir(), 'hub-tls-'));
  // As on a host, haproxy reaches the socket as a member of its group only.
  await chmod(directory, 0o755);
  const { gid } = await ensureAccount('hub-tls');
  for (const name of ['ours', 'theirs']) {
    const place = join(directory, name);
    const authority = await CertificateAuthority.create(place);
    const { cert, key } = await authority.server('portal');
    await writeFile(
      join(place, 'portal-pair.pem'),
      `${await readFile(cert, 'utf8')}${await readFile(key, 'utf8')}`,
    );
    const client = await authority.client('hub');
    await mkdir(join(place, 'secret'));
    await writeFile(join(place, 'secret/ca.crt'), await authority.pem());
    await copyFile(client.cert, join(place, 'secret/tls.crt'));
    await copyFile(client.key, join(place, 'secret/tls.key'));
  }
  const socket = join(directory, 'hub.sock');
  await writeFile(
    join(directory, 'berth.yml'),
    `state_dir: ${directory}/state\nhook_env: null\nclusters_dir: ${directory}/clusters.d\n`,
  );
  await mkdir(join(directory, 'clusters.d'));
  start('socat', [
    `UNIX-LISTEN:${socket},fork,mode=0660,group=${gid}`,
    `EXEC:"${installDirectory}/hooks/hub-bootstrap --config ${directory}/berth.yml",nofork`,
  ]);
  const [block] = codeBlocks('docs/jupyterhub.md').filter(({ text }) =>
    text.includes('frontend berth-hub'),
  );
  // Right before it is used: other tests look for free ports, too.
  ({ port } = await freePorts(['port']));
  const config = (block?.text ?? '')
    .replace('/etc/haproxy/berth-hub.pem', join(directory, 'ours/portal-pair.pem'))
    .replace('/etc/haproxy/berth-hub-ca.pem', join(directory, 'ours/secret/ca.crt'))
    .replace('group jupyterhub', 'group hub-tls')
    .replace('bind :8444', `bind 127.0.0.1:${port}`)
    .replace('/run/berth/hub.sock', socket);
  await writeFile(join(directory, 'haproxy.cfg'), config);
  const haproxy = start('haproxy', ['-db', '-f', join(directory, 'haproxy.cfg')]);
  const alive = (): Promise<void> =>
    haproxy.exitCode === null
      ? Promise.resolve()
      : Promise.reject(new Error(`haproxy exited: ${said.join('')}`));
  await waitFor({ what: 'haproxy', timeoutMs: 60_000, alive }, async () => {
    const { exitCode, stderr } = await asked('ours');
    if (exitCode !== 0) throw new Error(stderr);
    return true;
  });
});
afterAll(async () => {
  for (const one of processes) one.kill('SIGTERM');
  await rm(directory, { recursive: true });
});

function start(command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text));
  processes.push(child);
  return child;
}

/** Asks for an account with the secret of one of the two authorities. */
async function asked(secret: string, name = 'hub-tls') {
  const code = `import asyncio, sys
from berth_jupyterhub import account
account.TLS_DIRECTORY = ${JSON.stringify(join(directory, secret, 'secret'))}
print(asyncio.run(account.look_up('tls://127.0.0.1:${port}', sys.argv[1])).uid)`;
  return execa(python, ['-c', code, name], {
    env: { PYTHONPATH: `${await hubEnvironment()}:${hubPackage}`, PYTHONDONTWRITEBYTECODE: '1' },
    reject: false,
  });
}

describe('a hub in a cluster', () => {
  it('asks for accounts over TLS', async () => {
    const { uid } = await ensureAccount('hub-tls');
    expect((await asked('ours')).stdout).toBe(String(uid));
    expect((await asked('ours', 'nobody-of-this-name')).stderr).toContain('user-unknown');
  });

  it('gets no answer with a certificate of others, and believes no other host', async () => {
    expect((await asked('theirs')).stderr).toContain('hub-socket-unreachable');
    await copyFile(join(directory, 'ours/secret/ca.crt'), join(directory, 'theirs/secret/ca.crt'));
    expect((await asked('theirs')).stderr).toContain('hub-socket-unreachable');
  });
});
