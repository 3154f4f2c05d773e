/**
 * `npm test`: what needs nothing but Node, then the tests on login nodes and those on the site side by
 * side: both wait much of their time. Says the time of each file at the end.
 * `npm test -- NAME…` runs the files whose paths contain a name, one after the other.
 */
import '../scripts/check-node.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { setup, teardown } from './site/vitest-setup.ts';
import { timesOf, timesTable } from './times.ts';

const vitest = new URL('../node_modules/.bin/vitest', import.meta.url).pathname;

/** @returns the exit code */
async function run(args: readonly string[], env: Record<string, string> = {}): Promise<number> {
  const { exitCode } = await execa(vitest, ['run', ...args], {
    ...{ stdio: 'inherit', reject: false, env },
  });
  return exitCode ?? 1;
}

async function runAll(reports: string): Promise<number> {
  const report = (project: string): string => join(reports, `${project}.json`);
  const start = (project: string): Promise<number> =>
    run(
      [
        ...['--project', project, '--passWithNoTests', '--reporter=default'],
        ...['--reporter=json', `--outputFile=${report(project)}`],
      ],
      { BERTH_TEST_SITE: 'ready' },
    );
  const started = performance.now();
  const codes = [await start('unit')];
  await setup();
  try {
    codes.push(...(await Promise.all(['site', 'ssh'].map(start))));
  } finally {
    await teardown();
  }
  const minutes = (performance.now() - started) / 60_000;
  console.log(timesTable(await timesOf(['unit', 'site', 'ssh'].map(report))));
  console.log(`\n${minutes.toFixed(1)} minutes`);
  return Math.max(...codes);
}

const names = process.argv.slice(2);
if (names.length > 0) {
  process.exitCode = await run(names);
} else {
  const reports = await mkdtemp(join(tmpdir(), 'berth-test-'));
  try {
    process.exitCode = await runAll(reports);
  } finally {
    await rm(reports, { recursive: true });
  }
}
