import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseProfile } from '../../../../src/config/schema/profile/profile-parse.ts';
import { erbFill, erbYaml } from '../../../../src/companions/notebooks/rules/erb-yaml.ts';
import {
  keysWithoutEffect,
  ondemandApp,
} from '../../../../src/companions/notebooks/rules/ondemand-app.ts';
import { host } from '../../sessions/request/host.ts';

const etc = new URL('../../../../etc/', import.meta.url).pathname;
const profile = (fields: object = {}) => parseProfile({ image: 'a', ...fields }, 'p', 'p.yml');
const app = (fields: object, more: Partial<Parameters<typeof ondemandApp>[0]> = {}) =>
  Object.fromEntries(
    ondemandApp({ profile: profile(fields), kind: 'jupyter', cluster: 'c', ...more }).map(
      ({ path, text }) => [path, text],
    ),
  );

it('etc/ondemand/apps/berth-jupyter is what the renderer makes of the example of a profile', () => {
  const example = readFileSync(`${etc}berth/profiles/notebook.yml`, 'utf8');
  const notebook = parseProfile(parse(example), 'notebook', 'notebook.yml');
  const own = `${etc}ondemand/apps/berth-jupyter/`;
  const files = ondemandApp({ profile: notebook, kind: 'jupyter', cluster: 'prod' });
  expect(
    globSync('**/*', { cwd: own })
      .filter((path) => path !== 'template')
      .sort(),
  ).toEqual(files.map(({ path }) => path).sort());
  for (const { path, text } of files) expect(readFileSync(own + path, 'utf8'), path).toBe(text);
});

describe('the hours that a user can choose', () => {
  it.each([
    [{ lifetime: '8h' }, {}, '8'],
    [{ lifetime: 'user' }, {}, '12'],
    [{ lifetime: '90m' }, {}, undefined],
    [{ lifetime: '8h', batch: { time: '4h' } }, { slurm: host }, '4'],
    [{ lifetime: 'user' }, { slurm: host }, undefined],
  ])('%j %j', (fields, more, hours) => {
    const files = app(fields, more);
    expect(/max: (\d+)/.exec(files['form.yml'] ?? '')?.[1]).toBe(hours);
    expect(/clamp\(1, (\d+)\)/.exec(files['submit.yml.erb'] ?? '')?.[1]).toBe(hours);
  });
});

it('ends after timeouts.idle, or is refused', () => {
  const fields = { timeouts: { idle: '30m' } };
  expect(app(fields)['submit.yml.erb']).toContain('cull_idle_timeout=1800');
  expect(app(fields, { slurm: host })['template/script.sh.erb']).toContain('cull_connected=True');
  for (const kind of ['rstudio', 'web'] as const)
    expect(() => app(fields, { kind })).toThrow(
      `has timeouts.idle, which is not supported for the app ${kind}`,
    );
  expect(() => app({ lifetime: 'user', timeouts: { soft: '1h' } })).toThrow('timeouts.soft');
  expect(() => app({ lifetime: '1h', timeouts: { warn: ['5m'] } })).toThrow('timeouts.warn');
});

it('names what the adapter has no field for, and leaves it out', () => {
  const fields = {
    hostname: '$USER-pod',
    mounts: [{ source: '$HOME' }, { source: '/apps', read_only: true }],
    pod: {
      tolerations: [{ operator: 'Exists' }],
      volumes: { '/scratch': { claim: 'scratch' }, '/data': { nfs: { server: 's', path: '/d' } } },
      extended: { 'nvidia.com/gpu': 2, 'example.org/fpga': 1 },
    },
  };
  expect(keysWithoutEffect(profile(fields))).toEqual([
    ...['hostname', 'mounts.2 (read-only)', 'pod.volumes./scratch', 'pod.tolerations'],
    'pod.extended.example.org/fpga',
  ]);
  const submit = app(fields)['submit.yml.erb'];
  expect(submit).not.toMatch(/\/apps|scratch|fpga/);
  expect(submit).toContain('gpus_per_node: 2');
  expect(submit).toContain('type: "nfs"');
});

it('runs the command of a web server with the portal’s path removed', () => {
  const command = 'exec my-server --port "$BERTH_PORT"';
  const files = app({}, { kind: 'web', command });
  expect(files['submit.yml.erb']).toContain(
    String.raw`- "exec my-server --port \\\"$BERTH_PORT\\\""`,
  );
  expect(files['view.html.erb']).toContain('href="/rnode/');
  expect(app({}, { kind: 'web', command, slurm: host })['template/script.sh.erb']).toContain(
    String.raw`in_container sh -c "exec my-server --port \"\$BERTH_PORT\""`,
  );
});

describe('a value in a file that ERB renders', () => {
  it.each([
    ['a "b" \\ <%= 1 %>', '"a \\"b\\" \\\\ <%%= 1 %>"'],
    ['true', '"true"'],
    ['$UID', '<%= "#{account.uid}".to_json %>'],
    ['$HOME/#{x}%>', String.raw`<%= "#{account.dir}/\#{x}\x25>".to_json %>`],
  ])('%s', (template, text) => {
    expect(erbYaml({ key: erbFill(template) })).toBe(`key: ${text}\n`);
  });
});
