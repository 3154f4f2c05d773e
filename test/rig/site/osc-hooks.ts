import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { parseAllDocuments } from 'yaml';
import type { LiveCluster } from './live-cluster.ts';
import { ensureCommand } from './debian-packages.ts';
import { namespacePrefix, type Portal } from './portal.ts';

/** OSC's scripts. They are not part of this repository; tests use them if they exist beside it. */
const directory = join(import.meta.dirname, '../../../../shared/peers/osc-hooks/k8s-bootstrap');

/** Creates a user's namespace with OSC's script and kubectl; without the script, the same objects with kubectl alone. */
export async function runOscHook(
  portal: Portal,
  cluster: LiveCluster,
  user: string,
): Promise<void> {
  const script = join(directory, 'k8s-bootstrap-ondemand.sh');
  if (!existsSync(script)) return makeAsOsc(cluster, user);
  await ensureCommand('envsubst', 'gettext-base');
  const { adminKubeconfig, kubectlPath } = portal.site;
  const bin = join(portal.directory, 'bin');
  await mkdir(bin, { recursive: true });
  const kubectl = join(bin, 'kubectl');
  await writeFile(kubectl, `#!/bin/sh\nexec ${kubectlPath} "$@"\n`);
  await chmod(kubectl, 0o755);
  await execa('bash', [script, user, portal.files.hookEnv], {
    env: { PATH: `${bin}:/usr/bin:/bin`, HOME: bin, KUBECONFIG: adminKubeconfig },
    extendEnv: false,
  });
}

/** The same objects, with kubectl alone. */
export async function makeAsOsc(
  cluster: LiveCluster,
  user: string,
  prefix = namespacePrefix,
): Promise<void> {
  const namespace = `${prefix}${user}`;
  const labels = { 'app.kubernetes.io/name': 'open-ondemand' };
  const annotations = { 'openondemand.org/last-hook-execution': '1760000000' };
  const metadata = { name: namespace, labels, annotations };
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }];
  const items = [
    { apiVersion: 'v1', kind: 'Namespace', metadata },
    {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', subjects },
      metadata: { name: `${user}-ood-user`, namespace },
      roleRef: {
        ...{ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'ood-user' },
      },
    },
  ];
  const list = { apiVersion: 'v1', kind: 'List', items };
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(list));
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Creates the namespace `name` with a ServiceAccount that has the rights of OSC's. @returns its token */
export async function createOscAccount(cluster: LiveCluster, name: string): Promise<string> {
  await removeOscAccount(cluster, name);
  await cluster.deleteNamespacesAndWait([name]);
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

/** The rules of OSC's manifest; without the manifest, its most important rule. */
async function oscRules(): Promise<readonly Rule[]> {
  const file = join(directory, 'ondemand.yaml');
  const verbs = ['get', 'watch', 'list', 'create', 'update', 'patch', 'delete'];
  if (!existsSync(file))
    return [{ apiGroups: [''], resources: ['secrets', 'pods', 'configmaps'], verbs }];
  return parseAllDocuments(await readFile(file, 'utf8'))
    .map((each) => each.toJS() as { kind: string; metadata: { name: string }; rules: Rule[] })
    .filter(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'ondemand')
    .flatMap(({ rules }) => rules);
}
