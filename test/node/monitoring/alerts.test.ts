import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { alerts, ruleGroups, rules } from '../../rig/monitoring/rules.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { alertCases } from './alert-cases.ts';

const repository = new URL('../../../', import.meta.url).pathname;
let directory: string;
let file: string;

beforeAll(async () => {
  await ensurePackages(['prometheus']);
  directory = await mkdtemp(join(tmpdir(), 'berth-alerts-'));
  file = join(directory, 'rules.yml');
  await writeFile(file, stringify(ruleGroups));
});
afterAll(() => rm(directory, { recursive: true }));

it('is a file of rules for a Prometheus without the operator, with the commands of the page', async () => {
  const commands = codeBlocks('docs/monitoring.md').find(({ text }) => text.includes('promtool'));
  const script = commands?.text.replaceAll('/usr/lib/berth/share/', repository) ?? '';

  const { stdout } = await execa('sh', ['-euc', script], { cwd: directory });

  expect(parse(await readFile(join(directory, 'berth.yml'), 'utf8'))).toEqual(ruleGroups);
  expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
});

it('has a test of each alert both ways', () => {
  expect(Object.keys(alertCases)).toEqual(alerts);
  const oneWay = Object.entries(alertCases).filter(
    ([, { fires, silent }]) => fires.length === 0 || silent.length === 0,
  );
  expect(oneWay).toEqual([]);
});

/** promtool's test of one alert; `alert` undefined: of all. */
const promtoolTest = (
  alert: string | undefined,
  after: number,
  series: Readonly<Record<string, string>>,
  firing: boolean,
): object => {
  const which = alert === undefined ? '' : `alertname="${alert}",`;
  const expr = `count(ALERTS{${which}alertstate="firing"})`;
  return {
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        ...{ expr, eval_time: `${after}m` },
        exp_samples: firing ? [{ labels: '{}', value: 1 }] : [],
      },
    ],
  };
};

it.each([
  ...Object.entries(alertCases).flatMap(([alert, { after, fires, silent }]) => [
    { name: `${alert} fires`, tests: fires.map((one) => promtoolTest(alert, after, one, true)) },
    {
      name: `${alert} does not fire`,
      tests: silent.map((one) => promtoolTest(alert, after, one, false)),
    },
  ]),
  {
    name: 'no alert fires for what a site does not use',
    tests: [promtoolTest(undefined, 180, { up: '1x180' }, false)],
  },
])('$name, as promtool finds', async ({ name, tests }) => {
  const path = join(directory, `${name.replaceAll(' ', '-')}.yml`);
  await writeFile(path, stringify({ rule_files: [file], tests }));
  const { stdout, stderr } = await execa('promtool', ['test', 'rules', path], { reject: false });
  expect(stderr + stdout).toContain('SUCCESS');
});
