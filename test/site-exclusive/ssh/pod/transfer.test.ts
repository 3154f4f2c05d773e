import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureNode } from '../../../rig/site/kubernetes-node/node.ts';
import { installDirectory } from '../../../rig/site/portal.ts';
import { openSite } from '../../../rig/site/site.ts';
import { run } from '../../../../src/companions/verify/run-client.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

const files = join(installDirectory, 'files');

describe('an image that has no sftp-server and no scp', () => {
  let pods: PodHost;
  let directory: string;
  let there: string;
  const bytes = randomBytes(3_000_000);

  beforeAll(async () => {
    const site = await openSite();
    const image = await (await ensureNode(site)).image('busybox');
    pods = await startPodHost(site, {
      ...{ mode: 'forced', users: { 'pod-tess': [] } },
      profile: { image, lifetime: 'user', shell: '/bin/sh' },
    });
    directory = await mkdtemp(join(tmpdir(), 'berth-transfer-'));
    // Of its own: containers of other tests mount the programs of the common installation.
    const copy = `cp -a ${installDirectory} ${directory}/berth && mount --bind ${directory}/berth ${installDirectory}`;
    expect(await pods.host.asRoot(['sh', '-c', copy])).toMatchObject({ exitCode: 0 });
    there = join(directory, 'there');
    await writeFile(there, bytes);
  }, 600_000);
  afterAll(async () => {
    await pods.stop();
    await rm(directory, { recursive: true });
  });

  const client = (program: 'sftp' | 'scp', words: readonly string[], input = '') => {
    const { port } = pods.host;
    const options = [...pods.host.clientOptions('pod-tess'), '-P', String(port)];
    return run(program, [...options, ...words], { input });
  };
  const sftp = (back: string) =>
    client(
      'sftp',
      ['-b', '-', 'pod-tess@127.0.0.1'],
      `put ${there} ${back}\nget ${back} ${directory}/${back}\n`,
    );

  it('says so, where the login node has none to bring', async () => {
    const { exitCode, stderr } = await client('scp', ['-O', there, 'pod-tess@127.0.0.1:none']);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain('[transfer-tools-missing, session ');
    expect(stderr).toContain('send this line to the admins');
    // sshd shows nothing of what a subsystem says on standard error; syslog has it.
    expect((await sftp('none')).exitCode).not.toBe(0);
  });

  it("gets the login node's programs, for two clients at once, and sftp works in both directions", async () => {
    const berth = join(installDirectory, 'berth');
    expect(await pods.host.asRoot([berth, 'images', 'files', '--to', files])).toMatchObject({
      exitCode: 0,
    });
    for (const { exitCode, stderr } of await Promise.all([sftp('one'), sftp('two')]))
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    for (const back of ['one', 'two'])
      expect((await readFile(join(directory, back))).equals(bytes)).toBe(true);
  });

  it('and so does scp of the old protocol', async () => {
    const sent = await client('scp', ['-O', there, 'pod-tess@127.0.0.1:old']);
    expect(sent).toMatchObject({ exitCode: 0, stderr: '' });
    const back = join(directory, 'old');
    const received = await client('scp', ['-O', 'pod-tess@127.0.0.1:old', back]);
    expect(received).toMatchObject({ exitCode: 0, stderr: '' });
    expect((await readFile(back)).equals(bytes)).toBe(true);
  });
});
