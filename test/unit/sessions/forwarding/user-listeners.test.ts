import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  listeningPaths,
  SshdListeners,
} from '../../../../src/sessions/forwarding/sshd-listeners.ts';

describe('what sshd listens at in the directory for it', () => {
  const uid = process.getuid?.() ?? 0;
  let directory: string;
  let child: ChildProcess | undefined;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'berth-remote-'));
  });
  afterEach(async () => {
    child?.kill('SIGKILL');
    await rm(directory, { recursive: true });
  });
  /** Another process that listens at some paths. */
  const listens = async (...paths: string[]): Promise<ChildProcess> => {
    const script = `const all = ${JSON.stringify(paths)}; let left = all.length;
      for (const path of all) require('net').createServer().listen(path, () => (left -= 1) || console.log('x'))`;
    const started = spawn(process.execPath, ['-e', script], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    child = started;
    await once(started.stdout, 'data');
    return started;
  };
  const sockets = (of = uid): string[] =>
    [...new SshdListeners(of, directory).now().keys()].filter((place) => place.startsWith('unix:'));

  it("connects to the name below the pod's /tmp while a process listens", async () => {
    const server = await listens(join(directory, 'a.sock'), join(directory, 'krb5cc_0'));
    await writeFile(join(directory, 'file'), '');
    await symlink(join(directory, 'a.sock'), join(directory, 'link'));
    expect(sockets()).toEqual(['unix:/tmp/a.sock']);
    expect(sockets(uid + 1)).toEqual([]);
    server.kill('SIGKILL');
    await once(server, 'exit');
    expect(sockets()).toEqual([]);
  });

  it('is not forged by a path that contains a line', async () => {
    await writeFile(join(directory, 'a.sock'), '');
    // An abstract name, for which no directory is needed.
    await listens(`\0\n0: 2 0 00010000 0001 01 4242 ${directory}/a.sock`);
    expect([...listeningPaths(directory)]).toEqual([`${directory}/a.sock`]);
    expect(sockets()).toEqual([]);
  });
});
