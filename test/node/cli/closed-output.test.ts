import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';

const inShell = (text: string) =>
  execa('sh', ['-c', text, 'sh', join(installDirectory, 'berth')], { reject: false, cwd: '/' });

describe('with a closed standard output', () => {
  it.each([
    'version',
    '--version',
    '--help',
    'explain token-expired -o json',
    'completion zsh',
    'render policies',
    'subid plan -o json',
    'help sessions list',
  ])('berth %s says that its output is lost', async (command) => {
    expect(await inShell(`"$1" ${command} >&-`)).toMatchObject({
      exitCode: 74,
      stderr: expect.stringMatching(
        /^berth: standard output cannot be written: EBADF.* \[output-failed\]\nnext: It is closed\./m,
      ) as unknown,
    });
  });

  it('a command that prints nothing there ends as always', async () => {
    expect(await inShell('"$1" doctr >&-')).toMatchObject({ exitCode: 64 });
  });

  it.each(['>/dev/null', '2>&-', '>/dev/null 2>&-', '<&-'])(
    'but not with %s',
    async (redirected) => {
      expect(await inShell(`"$1" version ${redirected}`)).toMatchObject({
        ...{ exitCode: 0, stderr: '' },
      });
    },
  );
});
