import { globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import {
  startHaproxy,
  startKubeStateMetrics,
  startNodeExporter,
} from '../../rig/monitoring/exporters.ts';
import type { HttpProgram } from '../../rig/monitoring/http-program.ts';
import { MonitoredSite } from '../../rig/monitoring/monitored-site.ts';
import { dashboardPicture, type Dashboard } from '../../rig/monitoring/picture.ts';
import { Prometheus } from '../../rig/monitoring/prometheus.ts';
import { ruleGroups, rules } from '../../rig/monitoring/rules.ts';
import { openSite } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';

const records = process.env.BERTH_RECORD === '1';
const images = new URL('../../../docs/images/', import.meta.url).pathname;

/** What this site has no data of, and why. */
const withoutData: Readonly<Record<string, string>> = {
  berth_hub_requests_total: 'no JupyterHub runs here',
  berth_warnings_total: 'nothing warns here',
  berth_ssh_connections_limited_total: 'a limit of time would take a minute',
  berth_slurm_sync_last_success_timestamp_seconds: 'there is no slurmdbd',
  kube_cronjob_status_last_successful_time: 'the CronJob is suspended, as it is installed',
};

const dashboards = globSync('etc/grafana/*.json').map((file) => ({
  name: basename(file, '.json'),
  dashboard: JSON.parse(readFileSync(file, 'utf8')) as Dashboard,
}));

/** As Grafana asks for all hosts. */
const asked = (expr: string): string => expr.replaceAll('$host', '.*');

const instances = ['haproxy', 'login1', 'portal', 'state'];

let directory: string;
let monitored: MonitoredSite;
let prometheus: Prometheus;
let programs: readonly HttpProgram[];
const sessions: LiveSession[] = [];
let began: number;

beforeAll(async () => {
  const site = await openSite();
  directory = await mkdtemp(join(tmpdir(), 'berth-dashboards-'));
  began = Date.now() / 1000;
  monitored = await MonitoredSite.start(site);
  const portal = await startNodeExporter(monitored.textfiles.portal);
  const login1 = await startNodeExporter(monitored.textfiles.login1);
  const state = await startKubeStateMetrics(site.adminKubeconfig);
  const haproxy = await startHaproxy(join(directory, 'haproxy.cfg'));
  programs = [portal, login1, state, haproxy];
  await writeFile(join(directory, 'rules.yml'), stringify(ruleGroups));
  const job = (name: string, targets: Readonly<Record<string, HttpProgram>>): object => ({
    job_name: name,
    static_configs: Object.entries(targets).map(([instance, { url }]) => ({
      ...{ targets: [new URL(url).host], labels: { instance } },
    })),
  });
  prometheus = await Prometheus.start(directory, {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yml'],
    scrape_configs: [
      job('node', { portal, login1 }),
      job('kube-state-metrics', { state }),
      job('haproxy', { haproxy }),
    ],
  });
  for (const user of ['mo-pod', 'mo-box'])
    sessions.push(await LiveSession.startReady(monitored.login, user, 'sleep 600'));
  // Each counter grows while Prometheus looks.
  for (let round = 0; round < (records ? 10 : 2); round += 1) {
    await monitored.use();
    await monitored.collect();
    await scraped();
  }
  await monitored.pend();
  await monitored.collect();
  await scraped();
}, 900_000);
afterAll(async () => {
  for (const session of sessions) await session.kill();
  await prometheus.stop();
  for (const program of programs) await program.stop();
  await monitored.stop();
  await rm(directory, { recursive: true });
}, 120_000);

/** Waits until Prometheus has scraped since now. */
async function scraped(): Promise<void> {
  const now = Date.now() / 1000;
  await waitFor({ what: 'Prometheus to scrape', timeoutMs: 60_000 }, async () => {
    const seen = await prometheus.query(`timestamp(up == 1) > ${now}`);
    expect(seen.map(({ metric }) => metric.instance).sort()).toEqual(instances);
    return true;
  });
}

describe('with the metrics of real programs', () => {
  it.each(
    dashboards.flatMap(({ name, dashboard }) =>
      dashboard.panels.flatMap(({ title, targets = [] }) =>
        targets.map(({ expr }) => ({ name, title, expr })),
      ),
    ),
  )('$name: $title has data: $expr', async ({ expr }) => {
    const missing = Object.keys(withoutData).some((metric) => expr.includes(metric));

    const samples = await prometheus.query(asked(expr));

    expect(samples.length > 0).toBe(!missing);
  });

  it.each(rules.map(({ record, alert, expr }) => ({ name: record ?? alert, expr })))(
    '$name is evaluated',
    async ({ expr }) => {
      await prometheus.query(expr);
      const selectors =
        expr.match(/\b(?:instance:)?(?:berth|kube|haproxy)_[\w:]+(?:\{[^}]*\})?/g) ?? [];
      expect(selectors.length).toBeGreaterThan(0);
      for (const selector of selectors) {
        const missing = Object.keys(withoutData).some((metric) => selector.includes(metric));
        expect([selector, (await prometheus.query(selector)).length > 0]).toEqual([
          selector,
          !missing,
        ]);
      }
    },
  );

  it('has the alerts of what is wrong here', async () => {
    const pending = await prometheus.query('ALERTS{alertstate="pending"}');
    const names = pending.map(({ metric }) => metric.alertname);
    expect(names).toContain('BerthSlurmSyncFailing');
    expect(names).toContain('BerthBalancerNodeDown');
    expect(names).toContain('BerthClusterBackoff');
    expect(names).toContain('BerthImagesMissing');
    expect(names).toContain('BerthUnitFailed');
    for (const name of ['BerthLdapSyncFailing', 'BerthReapFailing'])
      expect(names).not.toContain(name);
  });
});

it.each(dashboards)('$name can be drawn', async ({ name, dashboard }) => {
  const end = Date.now() / 1000;
  const step = Math.max(1, Math.round((end - began) / 60));
  const svg = await dashboardPicture(dashboard, (expr) =>
    prometheus.range(asked(expr), { start: began, end, step }),
  );
  expect(svg).not.toMatch(/NaN|undefined/);
  await mkdir(images, { recursive: true });
  if (records) await writeFile(join(images, `${name}.svg`), svg);
});
