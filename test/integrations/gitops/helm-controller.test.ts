import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { type FluxBinaries, fluxBinaries, helmController } from '../../rig/flux/build.ts';
import { FluxControllers, kinds } from '../../rig/flux/controllers.ts';
import { publish } from '../../rig/flux/git-repository.ts';
import { type GitServer, startGitServer } from '../../rig/flux/git-server.ts';
import { problems, runDoctor } from '../../rig/site/doctor-report.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';

vi.setConfig({ hookTimeout: 1_800_000 });

const etc = new URL('../../../etc/', import.meta.url).pathname;

let cluster: LiveCluster;
let directory: string;
let work: string;
let git: GitServer;
let flux: FluxControllers;
let portal: Portal;

/** The portal's accounts exist already, made by `kubectl apply -k`: the release takes them over. */
beforeAll(async () => {
  const site = await openSite();
  cluster = new LiveCluster(site);
  const programs = await fluxBinaries();
  const helm = await helmController();
  portal = await Portal.make(site);
  await forgetRelease();
  directory = await mkdtemp(join(tmpdir(), 'berth-helm-controller-'));
  work = join(directory, 'work');
  git = await startGitServer(join(directory, 'repositories'));
  await makeRepository();
  flux = await FluxControllers.start(site, directory, [
    programs['source-controller'],
    programs['kustomize-controller'],
    helm,
  ]);
  await makeSopsKeys(programs);
  const example = await readFile(join(etc, 'gitops/flux/berth.yaml'), 'utf8');
  const url = `${git.url}/clusters.git`;
  await cluster.kubectl(
    ['apply', '-f', '-'],
    example.replace('https://git.example.org/hpc/clusters.git', url),
  );
});
afterAll(async () => {
  await flux.stop();
  await forgetRelease();
  await git.stop();
  await rm(directory, { recursive: true });
  await portal.remove();
});

/** Other tests need the objects of the release, so it is forgotten and not uninstalled. */
async function forgetRelease(): Promise<void> {
  await cluster.kubectl(['delete', 'secret', '-n', 'ondemand', '-l', 'owner=helm,name=berth']);
  const own = ['cronjob/berth-reaper', 'serviceaccount/berth-reaper', 'configmap/edition'];
  await cluster.kubectl(['delete', ...own, '-n', 'ondemand', '--ignore-not-found']);
}

/** As the example describes it: the chart as `berth`, and the HelmRelease in the directory of the cluster. */
async function makeRepository(): Promise<void> {
  const prod = join(work, 'clusters/prod');
  await mkdir(prod, { recursive: true });
  await cp(join(etc, 'helm/berth'), join(work, 'berth'), { recursive: true });
  await cp(join(etc, 'gitops/flux/helm-release.yaml'), join(prod, 'helm-release.yaml'));
  await publishChange('Berth');
}

const publishChange = (message: string): Promise<string> =>
  publish(work, join(directory, 'repositories/clusters.git'), message);

/** The Secret that the example names; nothing is encrypted here (flux.test.ts). */
async function makeSopsKeys(programs: FluxBinaries): Promise<void> {
  const key = join(directory, 'age.agekey');
  await execa(programs['age-keygen'], ['-o', key]);
  await cluster.kubectl([
    ...['create', 'secret', 'generic', 'sops-keys', '-n', 'flux-system', `--from-file=${key}`],
  ]);
}

async function expectGreen(): Promise<void> {
  const report = await runDoctor(portal);
  expect(problems(report, 'prod')).toEqual([]);
  expect(report.exitCode).toBe(0);
}

/** Waits until the repository's objects, and then the chart, are those of a commit. */
async function released(commit: string): Promise<void> {
  const mentions = (text: string) => (status: object) => JSON.stringify(status).includes(text);
  await flux.ready(
    kinds.kustomization,
    'berth',
    mentions(`"lastAppliedRevision":"main@sha1:${commit}"`),
  );
  // As the version that source-controller gives the chart: 0.1.0+COMMIT.
  await flux.ready(kinds.release, 'berth', mentions(`+${commit.slice(0, 12)}`));
}

const reaper = (): ReturnType<LiveCluster['get']> =>
  cluster.get('cronjob', 'berth-reaper', 'ondemand');

it('installs the chart from a Git server', async () => {
  await released((await execa('git', ['rev-parse', 'HEAD'], { cwd: work })).stdout);

  const account = await cluster.get('serviceaccount', 'berth-hook', 'ondemand');
  expect(account?.metadata.labels).toMatchObject({ 'app.kubernetes.io/managed-by': 'Helm' });
  expect(await reaper()).toMatchObject({ spec: { suspend: false, schedule: '*/5 * * * *' } });
  await expectGreen();
});

it('upgrades by a commit, of values and of the chart', async () => {
  const file = join(work, 'clusters/prod/helm-release.yaml');
  const release = parse(await readFile(file, 'utf8')) as {
    spec: { values: { reaper: Record<string, unknown> } };
  };
  release.spec.values.reaper = { enabled: true, suspend: true, schedule: '7 3 * * *' };
  await writeFile(file, stringify(release));
  const marker = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'edition' } };
  await writeFile(join(work, 'berth/templates/edition.yaml'), stringify(marker));
  const commit = await publishChange('The reaper at night');

  await flux.reconcile(kinds.repository, 'berth');
  await released(commit);

  expect(await reaper()).toMatchObject({ spec: { schedule: '7 3 * * *', suspend: true } });
  expect(await cluster.get('configmap', 'edition', 'ondemand')).toBeDefined();
  await expectGreen();
});

/** Not the hook's account, which the tests of `site` may use at the same time. */
it('repairs drift', async () => {
  const guard = ['validatingadmissionpolicybinding', 'berth-hook-guard'] as const;
  await cluster.kubectl(['delete', ...guard]);
  await cluster.patch('clusterrole', 'berth-reaper', 'default', { rules: [] });
  await waitFor({ what: 'the guard to be gone', timeoutMs: 60_000 }, async () =>
    (await runDoctor(portal)).exitCode === 0 ? undefined : true,
  );

  // What the example's interval brings within ten minutes.
  await flux.reconcile(kinds.release, 'berth');

  await waitFor({ what: 'the repair', timeoutMs: 60_000 }, async () => {
    const role = await cluster.get('clusterrole', 'berth-reaper');
    const binding = await cluster.get(...guard);
    return binding !== undefined && (role?.rules as unknown[]).length > 0 ? true : undefined;
  });
  await waitFor({ what: 'the guard to be back', timeoutMs: 60_000 }, async () =>
    (await runDoctor(portal)).exitCode === 0 ? true : undefined,
  );
  await expectGreen();
});
