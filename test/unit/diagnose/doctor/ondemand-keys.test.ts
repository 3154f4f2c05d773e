import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { CheckResult } from '../../../../src/system/errors/check-result.ts';
import type { ClusterSettings } from '../../../../src/config/schema/settings.ts';
import {
  checkOndemandKeys,
  checkOndemandPortal,
} from '../../../../src/diagnose/doctor/ondemand-keys.ts';
import {
  kubectlFinding,
  type KubectlRuns,
} from '../../../../src/diagnose/doctor/ondemand-on-cluster.ts';
import { exampleCluster } from '../../example-cluster.ts';

let directory: string;
beforeEach(async () => {
  // Not below /tmp, where anybody could create a program that is missing.
  directory = await mkdtemp(join(process.getuid?.() === 0 ? '/opt' : tmpdir(), 'ondemand-keys-'));
  await chmod(directory, 0o755);
  await mkdir(join(directory, 'clusters.d'));
  await mkdir(join(directory, 'apps/dashboard'), { recursive: true });
  await put('ood_portal.yml', '{}');
});
afterEach(() => rm(directory, { recursive: true }));

const put = (name: string, text: string, mode = 0o644): Promise<void> =>
  writeFile(join(directory, name), text, { mode });

/** What doctor says of the keys in a cluster's file. */
async function judge(
  job: object,
  batchConnect: object = { ssh_allow: false },
  settings: Partial<ClusterSettings> = {},
  others: object = {},
): Promise<readonly CheckResult[]> {
  const v2 = { job: { adapter: 'kubernetes', ...job }, batch_connect: batchConnect, ...others };
  await put('clusters.d/prod.yml', stringify({ v2 }));
  const cluster = { ...exampleCluster, name: 'prod', ...settings };
  const { portal, results } = checkOndemandPortal(join(directory, 'clusters.d'), (path) => path);
  return [...results, ...(portal === undefined ? [] : checkOndemandKeys(cluster, portal).results)];
}

const said = (results: readonly CheckResult[]): string =>
  results.map(({ status, message, next = '' }) => `${status}: ${message}. ${next}`).join('\n');

it('agrees with a file as Berth writes it', async () => {
  const found = await judge({});

  expect(said(found)).toMatch(
    /^ok: \S+prod\.yml does not contradict Berth \(checked: KUBECONFIG, all_namespaces/,
  );
  expect(found).toHaveLength(1);
});

it('warns of keys that contradict what Berth sets up', async () => {
  const found = said(await judge({ all_namespaces: true }, {}));

  expect(found).toMatch(/warning: v2\.job\.all_namespaces is true .* roles do not permit.*GROUP/);
  expect(found).toMatch(/warning: v2\.batch_connect\.ssh_allow is not false .*ssh_allow: false/);
});

it.each([
  ['apps/dashboard/env', 'KUBECONFIG="$HOME/.kube/ood"\n'],
  ['apps/dashboard/env.overload', 'KUBECONFIG=/etc/kube/config\n'],
  ['nginx_stage.yml', 'pun_custom_env: {KUBECONFIG: "$HOME/.kube/ood"}\n'],
  ['apps/dashboard/env', "export KUBECONFIG: '$HOME/.kube/ood' # theirs\n"],
])('names another KUBECONFIG of %s', async (name, text) => {
  await put(name, text);

  expect(said(await judge({}))).toMatch(
    new RegExp(`^warning: \\S+/${name} sets KUBECONFIG=\\S+, which OnDemand uses, but Berth`),
  );
  // OnDemand's own key has precedence.
  expect(said(await judge({ config_file: '$HOME/.kube/config' }))).toMatch(/^ok/);
});

it('takes the KUBECONFIG of the file that counts', async () => {
  await put('apps/dashboard/env', 'KUBECONFIG=$HOME/.kube/ood\n');
  await put('apps/dashboard/env.overload', 'KUBECONFIG=$HOME/.kube/config\n');

  expect(said(await judge({}))).toMatch(/^ok/);
});

it.each([
  ['apps/dashboard/env', 'KUBECONFIG=$(ssh-agent)\n', 'the command in '],
  ['nginx_stage.yml', 'pun_custom_env_declarations: [KUBECONFIG]\n', '/etc/ood/profile '],
])('runs nothing to learn a value: %s, %s', async (name, text, from) => {
  await put(name, text);

  const found = said(await judge({}));
  expect(found).toContain(`/${name} sets KUBECONFIG from ${from}`);
  expect(found).toMatch(
    /^warning: not compared: .* which Berth does not execute\. Set v2\.job\.config_file in /,
  );
});

it('says that OnDemand has other clusters', async () => {
  const other = join(directory, 'others.d');
  await put('apps/dashboard/env', `OOD_CLUSTERS=${other}\n`);
  expect(said(await judge({}))).toMatch(
    /^warning: OnDemand reads its clusters from \S+ \(OOD_CLUSTERS in \S+env\), Berth from /,
  );

  await symlink('clusters.d', other);
  expect(said(await judge({}))).toMatch(/^ok: .*does not contradict/);
});

it('knows that the dashboard shows no shells, and follows it to another directory of settings', async () => {
  const root = join(directory, 'settings');
  await mkdir(root);
  await put('settings/env', 'OOD_BC_SSH_TO_COMPUTE_NODE=no\n');
  await put('nginx_stage.yml', `pun_custom_env: {OOD_APP_CONFIG_ROOT: ${root}}\n`);
  expect(said(await judge({}, {}))).toMatch(/^ok/);

  await put('settings/env', 'OOD_BC_SSH_TO_COMPUTE_NODE=yes\n');
  expect(said(await judge({}, {}))).toContain('ssh_allow is not false');
});

it('warns of a shell on the API server', async () => {
  const v2 = { login: { host: new URL(exampleCluster.server.endpoint).hostname } };
  expect(said(await judge({}, undefined, {}, v2))).toMatch(
    /^warning: v2\.login\.host in \S+ is the API server, so OnDemand offers/,
  );
  expect(said(await judge({}, undefined, {}, { login: { host: 'login.example.org' } }))).toMatch(
    /^ok/,
  );
});

it('reads an empty file of the dashboard as no settings', async () => {
  await put('apps/dashboard/env', '');

  expect(said(await judge({}))).toMatch(/^ok/);
});

it('says what Berth does with gke', async () => {
  const gke = { auth: 'gke', credentials: { mode: 'none' } } as const;
  const auth = { type: 'gke', svc_acct_file: '~/.gke/key.json' };

  expect(said(await judge({ auth }, undefined, gke))).toMatch(
    /^skipped: auth is gke: OnDemand runs/,
  );
  expect(said(await judge({ auth: { type: 'gke' } }, undefined, gke))).toMatch(
    /^warning: .*without svc_acct_file/,
  );
  expect(said(await judge({ auth }, undefined, { auth: 'gke' }))).toMatch(
    /^warning: .*gcloud writes the user's kubeconfig, and so does Berth/,
  );
});

it('says nothing on a host without OnDemand', async () => {
  await rm(join(directory, 'ood_portal.yml'));

  expect(await judge({ all_namespaces: true })).toEqual([]);
});

it('says which file it cannot read', async () => {
  await put('nginx_stage.yml', 'a: [');

  expect(said(await judge({}))).toMatch(/^failed: .*nginx_stage\.yml:1/);
});

const prints = (version: string): string =>
  `#!/bin/sh\necho '{"clientVersion": {"gitVersion": "${version}"}}'\n`;

it.each([
  ['v1.36.1', 'v1.36.3', /^ok: \S+ is v1\.36\.1/],
  ['v1.35.0', 'v1.36.3', /^ok/],
  [
    'v1.21.5',
    'v1.36.3',
    /^warning: \S+ is v1\.21\.5, more than one minor version .* kubectl 1\.36/,
  ],
  ['garbage', 'v1.36.3', /^warning: \S+ version --client printed no version of kubectl/],
])('kubectl %s for a server %s', async (ours, theirs, expected) => {
  await put('kubectl', prints(ours), 0o755);
  await chmod(join(directory, 'kubectl'), 0o755);

  const finding = await kubectlFinding({ bin: join(directory, 'kubectl') }, theirs, 2_000);

  expect(said([{ id: 'ondemand-kubectl', ...finding }])).toMatch(expected);
});

it('runs a kubectl once, however many clusters name it', async () => {
  const bin = join(directory, 'kubectl');
  await put('kubectl', `#!/bin/sh\necho >> ${bin}.runs\n`, 0o755);
  await chmod(bin, 0o755);
  const runs: KubectlRuns = new Map();

  const findings = await Promise.all(
    ['v1.35.0', 'v1.36.0'].map((version) => kubectlFinding({ bin }, version, 2_000, runs)),
  );

  expect(findings).toHaveLength(2);
  expect(await readFile(`${bin}.runs`, 'utf8')).toBe('\n');
});

it('does not run a kubectl that another user can replace, or that does not end', async () => {
  const bin = join(directory, 'kubectl');
  const find = async (text: string, mode: number, limit = 2_000): Promise<string> => {
    await put('kubectl', text);
    await chmod(bin, mode);
    return said([{ id: 'ondemand-kubectl', ...(await kubectlFinding({ bin }, 'v1.36.3', limit)) }]);
  };

  expect(await find(`#!/bin/sh\ntouch ${bin}.ran\n`, 0o757)).toMatch(/^failed: users other than/);
  expect(await find(`#!/bin/sh\ntouch ${bin}.ran\n`, 0o700)).toMatch(
    /^warning: .*users cannot run/,
  );
  await expect(rm(`${bin}.ran`)).rejects.toThrow('ENOENT');
  expect(await find('#!/bin/sh\nexec sleep 30\n', 0o755, 400)).toMatch(/did not end in time/);
  await rm(bin);
  expect(
    said([{ id: 'ondemand-kubectl', ...(await kubectlFinding({ bin }, 'v1.36.3', 9)) }]),
  ).toMatch(/^warning: \S+kubectl does not exist/);
  expect(
    said([{ id: 'ondemand-kubectl', ...(await kubectlFinding({ bin: 'kubectl' }, '', 9)) }]),
  ).toMatch(/^warning: v2\.job\.bin is not the absolute path/);
});
