import { expect, it } from 'vitest';
import { runProgram } from '../../../src/system/run-program.ts';

it.each([
  ['a status and what it printed', 'echo wrong >&2; exit 3', '/bin/sh ended with status 3: wrong'],
  ['a status alone', 'exit 4', '/bin/sh ended with status 4'],
  ['a signal', 'kill -TERM $$', '/bin/sh ended with SIGTERM'],
])('a program that fails is named with %s, without its script', async (_, script, message) => {
  const { error } = await runProgram('/bin/sh', ['-c', `# one\n# two\n${script}`]);
  expect(error?.message).toBe(message);
});
