import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { type FluxBinaries, fluxBinaries } from '../../rig/flux/build.ts';
import { FluxControllers, kinds } from '../../rig/flux/controllers.ts';
import { publish } from '../../rig/flux/git-repository.ts';
import { type GitServer, startGitServer } from '../../rig/flux/git-server.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { openSite } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';

vi.setConfig({ hookTimeout: 1_800_000 });

const etc = new URL('../../../etc/', import.meta.url).pathname;
/** Content of a Secret, and who can read the file in the repository. */
const secrets = {
  registry: { password: 'a password of the registry', key: 'age' },
  'ldap-bind': { password: 'a password of the directory', key: 'GPG' },
} as const;

let cluster: LiveCluster;
let programs: FluxBinaries;
let flux: FluxControllers;
let directory: string;
let git: GitServer;

beforeAll(async () => {
  const site = await openSite();
  cluster = new LiveCluster(site);
  programs = await fluxBinaries();
  directory = await mkdtemp(join(tmpdir(), 'berth-flux-'));
  git = await startGitServer(join(directory, 'repositories'));
  await makeRepository();
  flux = await FluxControllers.start(site, directory, [
    programs['source-controller'],
    programs['kustomize-controller'],
  ]);
  await cluster.kubectl([
    ...['create', 'secret', 'generic', 'sops-keys', '-n', 'flux-system'],
    `--from-file=${join(directory, 'age.agekey')}`,
    `--from-file=${join(directory, 'gpg.asc')}`,
  ]);
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
  await flux.stop();
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
    await execa(programs.sops, ['encrypt', '--in-place', secret], { cwd: work, env: gpgHome() });
  }
  await publish(work, join(directory, 'repositories/clusters.git'), 'Berth');
}

/** The example's rules, with the public part of a new age key. */
async function ageRules(): Promise<string> {
  const key = join(directory, 'age.agekey');
  await execa(programs['age-keygen'], ['-o', key]);
  const { stdout: recipient } = await execa(programs['age-keygen'], ['-y', key]);
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

it('brings Berth from a Git server to the cluster, and decrypts its Secrets', async () => {
  await flux.ready(kinds.kustomization, 'berth', (status) =>
    JSON.stringify(status).includes('"lastAppliedRevision":"main@sha1:'),
  );

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
  await flux.reconcile(kinds.kustomization, 'berth');

  await waitFor({ what: 'the repair', timeoutMs: 60_000 }, async () => {
    const binding = await cluster.get('clusterrolebinding', 'berth-sessions-list');
    const role = await cluster.get('clusterrole', 'berth-sessions-list');
    return binding !== undefined && (role?.rules as unknown[]).length > 0 ? true : undefined;
  });
});
