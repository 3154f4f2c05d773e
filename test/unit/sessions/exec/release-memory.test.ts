import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const relay = new URL('../../../../src/sessions/exec/relay-session.ts', import.meta.url).pathname;

const program = `
  import { releaseMemory } from ${JSON.stringify(relay)};
  const total = () => process.memoryUsage().heapTotal / 1024 / 1024;
  // As the start of a session leaves it.
  for (let round = 0; round < 20; round += 1)
    JSON.parse(JSON.stringify(Array.from({ length: 5_000 }, (_, index) => ({ index }))));
  const before = total();
  releaseMemory();
  console.log(JSON.stringify({ before, after: total() }));`;

it('a session that lasts returns the memory of its start', async () => {
  const words = ['--import', 'tsx', '--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  const { before, after } = JSON.parse(stdout) as { before: number; after: number };
  expect(before - after, stdout).toBeGreaterThan(2);
});
