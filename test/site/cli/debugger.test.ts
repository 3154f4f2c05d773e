import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';

/** Sends itself the signal that opens Node's debugger, and says what listens then. */
const script = `
  const { execFileSync } = require('node:child_process');
  process.kill(process.pid, 'SIGUSR1');
  setTimeout(() => {
    const all = execFileSync('ss', ['-ltnp'], { encoding: 'utf8' });
    console.log(all.split('\\n').filter((line) => line.includes('pid=' + process.pid + ',')).join());
  }, 500);
`;

describe('SIGUSR1 of a client to a login, or of a user to a hook of root', () => {
  it('opens no debugger on the host', async () => {
    const programs = await Promise.all(
      ['shell', 'hooks'].map(async (directory) =>
        (await readdir(join(installDirectory, directory))).map((name) => join(directory, name)),
      ),
    );
    for (const program of [...programs.flat(), 'berth']) {
      const lines = (await readFile(join(installDirectory, program), 'utf8')).split('\n');
      // Most are started by a shell, in their second line.
      const words = lines.slice(0, 2).join(' ').replaceAll("'", ' ').split(' ');
      const node = words.find((word) => word.endsWith('/node')) ?? '';
      const options = words.filter((word) => word.startsWith('--') && !word.endsWith('*/'));
      const { stdout } = await execa(node, [...options, '-e', script]);
      expect(stdout, program).toBe('');
    }
  });

  it('opens a debugger without that option of Node', async () => {
    const { stdout } = await execa(process.execPath, ['-e', script]);
    expect(stdout).toContain('127.0.0.1:9229');
  });
});
