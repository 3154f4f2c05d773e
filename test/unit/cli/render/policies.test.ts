import { expect, it } from 'vitest';
import yargs from 'yargs';
import { renderCommand } from '../../../../src/cli/render/render.ts';

it('`berth render policies` has its own options only', async () => {
  let help = '';
  await yargs()
    .command(renderCommand({} as never))
    .exitProcess(false)
    .parseAsync(['render', 'policies', '--help'], {}, (_error, _argv, output) => {
      help = output;
    });
  const options = [...help.matchAll(/^ +(?:-\w, )?--([\w-]+) /gm)].map(([, name]) => name);
  expect(options.sort()).toEqual([
    'config-dir',
    'engine',
    'help',
    'kubernetes',
    'output',
    'parameters',
    'version',
  ]);
  expect(help.match(/"yaml"/g)).toHaveLength(2);
});
