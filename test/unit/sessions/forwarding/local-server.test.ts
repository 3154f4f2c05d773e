import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listenAtPath } from '../../../../src/sessions/forwarding/local-server.ts';

describe('a socket in a directory of the user', () => {
  let directory: string;
  let path: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'berth-local-'));
    path = join(directory, 'a.sock');
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('is accessible only to the user, and exists once', async () => {
    const server = await listenAtPath(path, (socket) => socket.destroy());
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await listenAtPath(path, (socket) => socket.destroy())).toBeUndefined();
    server?.close();
  });

  it('takes the place of one that a killed process left', async () => {
    const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log('x'))`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const server = await listenAtPath(path, (socket) => socket.destroy());
    expect(server).toBeDefined();
    server?.close();
  });

  it('never takes the place of a file', async () => {
    await writeFile(path, 'mine');
    expect(await listenAtPath(path, (socket) => socket.destroy())).toBeUndefined();
    expect((await stat(path)).isFile()).toBe(true);
  });
});
