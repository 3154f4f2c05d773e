import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';

const berth = async (args: readonly string[], cwd = '/') => {
  const { exitCode, stdout, stderr } = await execa(join(installDirectory, 'berth'), args, {
    ...{ cwd, reject: false, timeout: 60_000 },
  });
  return { exitCode, stdout, stderr };
};

describe('a command that takes several words or values', () => {
  it.each([
    [['sshd', 'check', 'nosuch-kind', 'login'], 'nosuch-kind'],
    [['sessions', 'end', 'nosuch-one', 'nosuch-two'], 'nosuch-one'],
    [['sessions', 'show', 'nosuch-one', 'nosuch-two'], 'nosuch-one'],
  ])('does not only look at the last one: berth %j', async (args, first) => {
    const { exitCode, stdout, stderr } = await berth(args);
    expect(exitCode).not.toBe(0);
    expect(stdout + stderr).toContain(first);
  });

  it('says so if an option with one value is given twice', async () => {
    const { exitCode, stderr } = await berth(['doctor', '--timeout', '1s', '--timeout', '2s']);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 64,
      stderr: 'berth: --timeout may be given only once [usage]\nnext: See `berth doctor --help`.',
    });
  });
});

describe('berth help', () => {
  it('is about a subcommand too', async () => {
    const { stdout } = await berth(['help', 'init', 'cluster']);
    expect(stdout).toBe((await berth(['init', 'cluster', '--help'])).stdout);
    expect(stdout).toMatch(/^berth init cluster\n/);
  });

  it('names a command that does not exist', async () => {
    expect(await berth(['help', 'doctr'])).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining('Unknown argument: doctr (did you mean doctor?)') as unknown,
    });
  });
});

it('reads no package.json of the working directory, which may be a FIFO of a user', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-working-directory-'));
  try {
    await execa('mkfifo', [join(directory, 'package.json')]);
    expect(await berth(['version'], directory)).toMatchObject({ exitCode: 0 });
  } finally {
    await rm(directory, { recursive: true });
  }
});
