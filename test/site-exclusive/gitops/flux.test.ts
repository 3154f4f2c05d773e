import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { Daemon } from '../../rig/addresses/daemon.ts';
import { type FluxBinaries, fluxBinaries } from '../../rig/flux/build.ts';
import { type GitServer, startGitServer } from '../../rig/flux/git-server.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { freePorts } from '../../rig/site/ports.ts';
import { openSite } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/site/wait.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 1_800_000 });

const etc = new URL('../../../etc/', import.meta.url).pathname;
/** Content of a Secret, and who can read the file in the repository. */
const secrets = {
  registry: { password: 'a password of the registry', key: 'age' },
  'ldap-bind': { password: 'a password of the directory', key: 'GPG' },
} as const;
const kustomization = 'kustomization.kustomize.toolkit.fluxcd.io';

let cluster: LiveCluster;
let flux: FluxBinaries;
let directory: string;
let git: GitServer;
let daemons: readonly Daemon[] = [];

beforeAll(async () => {
  const site = await openSite();
  cluster = new LiveCluster(site);
  flux = await fluxBinaries();
  directory = await mkdtemp(join(tmpdir(), 'berth-flux-'));
  git = await startGitServer(join(directory, 'repositories'));
  await makeRepository();
  for (const crds of flux.crds) await cluster.kubectl(['apply', '--server-side', '-f', crds]);
  await cluster.kubectl(['create', 'namespace', 'flux-system']);
  await cluster.kubectl([
    ...['create', 'secret', 'generic', 'sops-keys', '-n', 'flux-system'],
    `--from-file=${join(directory, 'age.agekey')}`,
    `--from-file=${join(directory, 'gpg.asc')}`,
  ]);
  await mkdir(join(directory, 'artifacts'));
  const { storage } = await freePorts(['storage']);
  const enter = [
    ...['env', `KUBECONFIG=${site.adminKubeconfig}`, 'RUNTIME_NAMESPACE=flux-system'],
    `HOME=${directory}`,
  ];
  const general = ['--metrics-addr=127.0.0.1:0', '--health-addr=127.0.0.1:0'];
  const start = (name: 'source-controller' | 'kustomize-controller', ...args: string[]) =>
    Daemon.start(enter, [flux[name], ...general, ...args], join(directory, `${name}.log`));
  daemons = [
    await start(
      'source-controller',
      `--storage-path=${join(directory, 'artifacts')}`,
      ...[`--storage-addr=127.0.0.1:${storage}`, `--storage-adv-addr=127.0.0.1:${storage}`],
    ),
    await start('kustomize-controller'),
  ];
  const example = await readFile(join(etc, 'gitops/flux/berth.yaml'), 'utf8');
  const url = `${git.url}/clusters.git`;
  await cluster.kubectl(
    ['apply', '-f', '-'],
    example.replace('https://git.example.org/hpc/clusters.git', url),
  );
});
afterAll(async () => {
  const here = ['--ignore-not-found', '--wait=false'];
  await cluster.kubectl(['delete', '-k', join(etc, 'kubernetes/ssh-sessions-list'), ...here]);
  await cluster.kubectl(['delete', 'secret', ...Object.keys(secrets), '-n', 'ondemand', ...here]);
  const owned = [`${kustomization}/berth`, 'gitrepository.source.toolkit.fluxcd.io/berth'];
  await cluster.kubectl(['delete', '-n', 'flux-system', '--timeout=60s', ...owned]);
  for (const daemon of daemons) await daemon.stop();
  for (const crds of flux.crds) await cluster.kubectl(['delete', '-f', crds, ...here]);
  await cluster.deleteNamespaces(['flux-system']);
  await git.stop();
  await rm(directory, { recursive: true });
});

/** As docs/gitops.md describes it: the components, one kustomization, and Secrets that only the cluster can read. */
async function makeRepository(): Promise<void> {
  const work = join(directory, 'work');
  const prod = join(work, 'clusters/prod');
  await mkdir(prod, { recursive: true });
  await cp(join(etc, 'kubernetes'), join(work, 'berth'), { recursive: true });
  const components = ['hook', 'roles', 'guard', 'ssh-sessions-list'];
  await writeFile(
    join(prod, 'kustomization.yaml'),
    stringify({
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      components: components.map((one) => `../../berth/${one}`),
      resources: Object.keys(secrets).map((name) => `${name}.sops.yaml`),
    }),
  );
  const rules = { age: await ageRules(), GPG: await gpgRules() };
  for (const [name, { password, key }] of Object.entries(secrets)) {
    const secret = join(prod, `${name}.sops.yaml`);
    await writeFile(
      secret,
      stringify({
        ...{ apiVersion: 'v1', kind: 'Secret' },
        ...{ metadata: { name, namespace: 'ondemand' }, stringData: { password } },
      }),
    );
    await writeFile(join(work, '.sops.yaml'), rules[key]);
    await execa(flux.sops, ['encrypt', '--in-place', secret], { cwd: work, env: gpgHome() });
  }
  const run = (...args: string[]): Promise<unknown> => execa('git', args, { cwd: work });
  await run('init', '--quiet', '--initial-branch=main');
  await run('add', '.');
  const author = ['-c', 'user.name=admin', '-c', 'user.email=admin@example.org'];
  await run(...author, 'commit', '--quiet', '-m', 'Berth');
  await run('clone', '--quiet', '--bare', '.', join(directory, 'repositories/clusters.git'));
}

/** The example's rules, with the public part of a new age key. */
async function ageRules(): Promise<string> {
  const key = join(directory, 'age.agekey');
  await execa(flux['age-keygen'], ['-o', key]);
  const { stdout: recipient } = await execa(flux['age-keygen'], ['-y', key]);
  const rules = await readFile(join(etc, 'gitops/sops.yaml'), 'utf8');
  return rules.replace('age1examplepublickey', recipient);
}

const gpgHome = (): { GNUPGHOME: string } => ({ GNUPGHOME: join(directory, 'gnupg') });

/** The example's rules, with a new GPG key that has no passphrase, as Flux requires. */
async function gpgRules(): Promise<string> {
  const gpg = (...args: string[]): Promise<{ stdout: string }> =>
    execa('gpg', ['--batch', ...args], { env: gpgHome() });
  await mkdir(gpgHome().GNUPGHOME, { mode: 0o700 });
  await gpg('--passphrase', '', '--quick-generate-key', 'flux', 'rsa3072', 'encr', 'never');
  const { stdout: list } = await gpg('--list-keys', '--with-colons');
  const fingerprint = /^fpr:+([0-9A-F]{40}):/m.exec(list)?.[1] ?? '';
  await gpg('--export-secret-keys', '--armor', '--output', join(directory, 'gpg.asc'), fingerprint);
  const rules = await readFile(join(etc, 'gitops/sops-gpg.yaml'), 'utf8');
  return rules.replace('0123456789ABCDEF0123456789ABCDEF01234567', fingerprint);
}

async function applied(revision: RegExp): Promise<void> {
  const alive = async (): Promise<void> => {
    for (const daemon of daemons) await daemon.assertRunning();
  };
  await waitFor({ what: 'Flux to apply it', timeoutMs: 90_000, alive }, async () => {
    const one = await cluster.get(kustomization, 'berth', 'flux-system');
    const { conditions = [], lastAppliedRevision = '' } = one?.status as {
      conditions?: readonly { type: string; status: string }[];
      lastAppliedRevision?: string;
    };
    const ready = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (ready && revision.test(lastAppliedRevision)) return true;
    throw new Error(JSON.stringify(one?.status));
  });
}

it('brings Berth from a Git server to the cluster, and decrypts its Secrets', async () => {
  await applied(/^main@sha1:/);

  for (const [name, { password, key }] of Object.entries(secrets)) {
    const file = join(directory, `work/clusters/prod/${name}.sops.yaml`);
    const text = await readFile(file, 'utf8');
    expect(text).not.toContain(password);
    expect(text).toContain(`name: ${name}\n`);
    expect(text).toMatch(key === 'age' ? 'BEGIN AGE ENCRYPTED' : 'BEGIN PGP MESSAGE');
    const secret = await cluster.get('secret', name, 'ondemand');
    expect(secret?.data).toEqual({ password: Buffer.from(password).toString('base64') });
  }
  expect(await cluster.get('clusterrole', 'berth-sessions-list')).toBeDefined();
});

it('repairs drift', async () => {
  await cluster.kubectl(['delete', 'clusterrolebinding', 'berth-sessions-list']);
  await cluster.patch('clusterrole', 'berth-sessions-list', 'default', { rules: [] });

  // What the example's interval brings within ten minutes.
  const now = { 'reconcile.fluxcd.io/requestedAt': new Date().toISOString() };
  await cluster.patch(kustomization, 'berth', 'flux-system', { metadata: { annotations: now } });

  await waitFor({ what: 'the repair', timeoutMs: 60_000 }, async () => {
    const binding = await cluster.get('clusterrolebinding', 'berth-sessions-list');
    const role = await cluster.get('clusterrole', 'berth-sessions-list');
    return binding !== undefined && (role?.rules as unknown[]).length > 0 ? true : undefined;
  });
});
