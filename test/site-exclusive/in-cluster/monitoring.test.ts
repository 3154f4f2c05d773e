import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { prometheusOperatorCrds } from '../../rig/prometheus-operator/crds.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { freePorts } from '../../../src/verify/free-ports.ts';
import { openSite } from '../../rig/site/site.ts';
import { waitFor } from '../../../src/verify/wait-for.ts';

const manifests = new URL('../../../etc/kubernetes/', import.meta.url).pathname;
const component = join(manifests, 'monitoring');

let cluster: LiveCluster;
let crds: readonly string[];
let directory: string;

beforeAll(async () => {
  cluster = new LiveCluster(await openSite());
  await ensurePackages(['prometheus', 'haproxy']);
  directory = await mkdtemp(join(tmpdir(), 'berth-monitoring-'));
  // The namespace.
  await cluster.kubectl(['apply', '-k', manifests]);
  crds = await prometheusOperatorCrds();
  for (const crd of crds) await cluster.kubectl(['apply', '--server-side', '-f', crd]);
});
afterAll(async () => {
  for (const crd of crds) await cluster.kubectl(['delete', '--ignore-not-found', '-f', crd]);
  await rm(directory, { recursive: true });
});

it('is what the Prometheus operator accepts, field by field', async () => {
  const kinds = ['podmonitors', 'prometheusrules'].map(
    (kind) => `crd/${kind}.monitoring.coreos.com`,
  );
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...kinds]);

  const applied = await waitFor({ what: 'the new kinds', timeoutMs: 30_000 }, () =>
    cluster.kubectl(['apply', '--dry-run=server', '--validate=strict', '-k', component]),
  );

  expect(applied).toContain('podmonitor.monitoring.coreos.com/ssh-balancer created');
  expect(applied).toContain('prometheusrule.monitoring.coreos.com/berth created');
});

/** Series of promtool's unit tests, one value a minute, and whether the alert fires after `minutes`. */
const cases: readonly [
  alert: string,
  minutes: number,
  series: Readonly<Record<string, string>>,
  fires: boolean,
][] = [
  ['BerthReapNotRunning', 25, { berth_ssh_reap_last_run_timestamp_seconds: '0x25' }, true],
  ['BerthReapNotRunning', 25, { berth_ssh_reap_last_run_timestamp_seconds: '0+60x25' }, false],
  ['BerthReapFailing', 60, { berth_ssh_reap_failures_total: '0+1x60' }, true],
  ['BerthReapFailing', 60, { berth_ssh_reap_failures_total: '5x60' }, false],
  ['BerthReapTooSlow', 40, { berth_ssh_reap_users_not_reached: '3x40' }, true],
  ['BerthLdapSyncNotRunning', 70, { berth_ldap_sync_last_run_timestamp_seconds: '0x70' }, true],
  ['BerthLdapSyncFailing', 70, { berth_ldap_sync_success: '0x70' }, true],
  ['BerthLdapSyncFailing', 70, { berth_ldap_sync_success: '1x70' }, false],
  [
    'BerthClusterReapNotRunning',
    25,
    { berth_cluster_reap_last_run_timestamp_seconds: '0x25' },
    true,
  ],
  [
    'BerthClusterReapFailing',
    60,
    { 'berth_cluster_reaped_failures_total{cluster="prod"}': '0+1x60' },
    true,
  ],
  ...(
    [
      // Never successful since its creation; suspended; successful.
      [{ created: '0x90', suspend: '0x90' }, true],
      [{ created: '0x90', suspend: '1x90' }, false],
      [{ created: '0x90', suspend: '0x90', last: '0+60x90' }, false],
    ] as const
  ).map(([{ created, suspend, ...more }, fires]): (typeof cases)[number] => {
    const job = '{namespace="ondemand",cronjob="berth-reaper"}';
    const last: Record<string, string> =
      'last' in more ? { [`kube_cronjob_status_last_successful_time${job}`]: more.last } : {};
    const series = {
      [`kube_cronjob_created${job}`]: created,
      [`kube_cronjob_spec_suspend${job}`]: suspend,
    };
    return ['BerthCronJobNotSucceeding', 90, { ...series, ...last }, fires];
  }),
  [
    'BerthBalancerWithoutNodes',
    5,
    { 'haproxy_backend_active_servers{proxy="alpha.pods"}': '0x5' },
    true,
  ],
  [
    'BerthBalancerWithoutNodes',
    5,
    { 'haproxy_backend_active_servers{proxy="sources"}': '0x5' },
    false,
  ],
  [
    'BerthBalancerNodeDown',
    15,
    { 'haproxy_server_status{proxy="alpha.pods",state="DOWN"}': '1x15' },
    true,
  ],
];

const groups = async (): Promise<string> => {
  const rules = parse(await readFile(join(component, 'rules.yaml'), 'utf8')) as { spec: object };
  return stringify(rules.spec);
};

it('has alerts that fire when they must, as promtool finds', async () => {
  const file = join(directory, 'rules.yml');
  await writeFile(file, await groups());
  const { stdout } = await execa('promtool', ['check', 'rules', file]);
  expect(stdout).toContain('SUCCESS: 10 rules found');

  const tests = join(directory, 'tests.yml');
  const query = (alert: string): string =>
    `count(ALERTS{alertname="${alert}",alertstate="firing"})`;
  await writeFile(
    tests,
    stringify({
      rule_files: [file],
      tests: cases.map(([alert, minutes, series, fires]) => ({
        interval: '1m',
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: [
          {
            ...{ expr: query(alert), eval_time: `${minutes}m` },
            exp_samples: fires ? [{ labels: '{}', value: 1 }] : [],
          },
        ],
      })),
    }),
  );
  const tested = await execa('promtool', ['test', 'rules', tests], { reject: false });
  expect(tested.stderr + tested.stdout).toContain('SUCCESS');
  const named = [...(await groups()).matchAll(/alert: (\w+)/g)].map(([, name]) => name);
  expect(new Set(cases.map(([alert]) => alert))).toEqual(new Set(named));
});

it("names metrics of haproxy with haproxy's own labels", async () => {
  const { port, ssh, node } = await freePorts(['port', 'ssh', 'node']);
  const config = join(directory, 'haproxy.cfg');
  const text = `defaults
    timeout connect 1s
    timeout client 5s
    timeout server 5s
listen alpha.pods
    mode tcp
    bind 127.0.0.1:${ssh}
    server login1 127.0.0.1:${node} check inter 100ms fall 1
frontend statistics
    mode http
    bind 127.0.0.1:${port}
    http-request use-service prometheus-exporter if { path /metrics }
`;
  await writeFile(config, text);
  const haproxy = execa('haproxy', ['-db', '-f', config], { reject: false });
  try {
    await waitFor({ what: 'haproxy to miss its node', timeoutMs: 10_000 }, async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(metrics).toContain('haproxy_backend_active_servers{proxy="alpha.pods"} 0\n');
      expect(metrics).toMatch(
        /haproxy_server_status\{proxy="alpha.pods",server="login1",state="DOWN"\} 1\n/,
      );
      return true;
    });
  } finally {
    haproxy.kill();
    await haproxy;
  }
});
