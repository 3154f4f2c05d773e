import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { parseAllDocuments } from 'yaml';
import type { LiveCluster } from './live-cluster.ts';
import { ensureCommand } from './packages.ts';
import { namespacePrefix, type Portal } from './portal.ts';

/** OSC's scripts, which are no part of this repository: tests use them where they are at hand. */
const folder = join(import.meta.dirname, '../../../../shared/peers/osc-hooks/k8s-bootstrap');

/** A namespace as OSC's hook leaves it: by its script with a real kubectl, else the same by hand. */
export async function runOscHook(
  portal: Portal,
  cluster: LiveCluster,
  user: string,
): Promise<void> {
  const script = join(folder, 'k8s-bootstrap-ondemand.sh');
  if (!existsSync(script)) return makeAsOsc(cluster, user);
  await ensureCommand('envsubst', 'gettext-base');
  const { adminKubeconfig, kubectlPath } = portal.site;
  const bin = join(portal.folder, 'bin');
  await mkdir(bin, { recursive: true });
  const kubectl = join(bin, 'kubectl');
  await writeFile(kubectl, `#!/bin/sh\nexec ${kubectlPath} "$@"\n`);
  await chmod(kubectl, 0o755);
  await execa('bash', [script, user, portal.files.hookEnv], {
    env: { PATH: `${bin}:/usr/bin:/bin`, KUBECONFIG: adminKubeconfig },
    extendEnv: false,
  });
}

async function makeAsOsc(cluster: LiveCluster, user: string): Promise<void> {
  const namespace = `${namespacePrefix}${user}`;
  const labels = { 'app.kubernetes.io/name': 'open-ondemand' };
  const annotations = { 'openondemand.org/last-hook-execution': '1760000000' };
  const metadata = { name: namespace, labels, annotations };
  await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata });
  await cluster.kubectl([
    ...['create', 'rolebinding', `${user}-ood-user`, '-n', namespace],
    ...['--clusterrole=ood-user', `--user=${user}`],
  ]);
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** A ServiceAccount with the rights of OSC's, in this namespace, which is made. @returns Its token. */
export async function makeOscAccount(cluster: LiveCluster, name: string): Promise<string> {
  await removeOscAccount(cluster, name);
  await cluster.namespacesGone([name]);
  const subjects = [{ kind: 'ServiceAccount', name: 'ondemand', namespace: name }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name } };
  await cluster.create(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'ondemand', namespace: name } },
    { ...rbac, kind: 'ClusterRole', rules: await oscRules() },
    { ...rbac, kind: 'ClusterRoleBinding', roleRef, subjects },
  );
  return (await cluster.kubectl(['create', 'token', 'ondemand', '-n', name])).trim();
}

export async function removeOscAccount(cluster: LiveCluster, name: string): Promise<void> {
  await cluster.kubectl(['delete', 'clusterrolebinding,clusterrole', name, '--ignore-not-found']);
  await cluster.deleteNamespaces([name]);
}

/** From OSC's own manifest where it is at hand; else the part of it that matters most. */
async function oscRules(): Promise<readonly Rule[]> {
  const file = join(folder, 'ondemand.yaml');
  const verbs = ['get', 'watch', 'list', 'create', 'update', 'patch', 'delete'];
  if (!existsSync(file))
    return [{ apiGroups: [''], resources: ['secrets', 'pods', 'configmaps'], verbs }];
  return parseAllDocuments(await readFile(file, 'utf8'))
    .map((each) => each.toJS() as { kind: string; metadata: { name: string }; rules: Rule[] })
    .filter(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'ondemand')
    .flatMap(({ rules }) => rules);
}
