import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ensureAccount } from '../../rig/site/accounts.ts';
import { installDirectory, Portal, pullSecretName } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let portal: Portal;
/** Of no user: dry runs need a namespace that is there. */
const namespace = 'r-rendered';
const unknownUser = [
  '--user',
  'rendered',
  '--uid',
  '5001',
  '--gid',
  '5001',
  '--groups',
  '6000,5001',
];

beforeAll(async () => {
  site = await openSite();
  await ensureAccount('alice');
  portal = await Portal.make(site, {
    hookEnv: { NAMESPACE_PREFIX: 'r-' },
    clusters: { prod: { namespace_prefix: 'r-' } },
  });
  await site.kubectl(['create', 'namespace', namespace]);
});
afterAll(async () => {
  await site.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  await portal.remove();
});

describe('the parameters of the policies', () => {
  it('are refused with line and column, and as several documents', async () => {
    const file = join(portal.directory, 'admission.yml');
    for (const [text, message] of [
      ['default_resources:\n  cpu: lots\n', ':2:8: default_resources.cpu must be a quantity'],
      ['images: []\nimage: []\n', ':2:1: image is unknown: did you mean images?'],
      ['images: []\n---\nnfs: []\n', ':2:1: invalid YAML: a second YAML document begins here'],
    ] as const) {
      await writeFile(file, text);
      const args = ['render', 'policies', '--parameters', file];
      const { exitCode, stdout, stderr } = await execa(join(installDirectory, 'berth'), args, {
        reject: false,
      });
      expect({ exitCode, stdout }).toEqual({ exitCode: 78, stdout: '' });
      expect(stderr).toContain(`${file}${message}`);
    }
  });
});

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
  readonly data?: Record<string, string>;
}

const documents = (text: string): Rendered[] =>
  parseAllDocuments(text).map((one) => one.toJS() as Rendered);

describe('berth render', () => {
  it.each([['yaml'], ['json']])('prints %s that the API server accepts', async (format) => {
    const { stdout, exitCode } = await portal.berth('render', ...unknownUser, '-o', format);
    expect(exitCode).toBe(0);
    const tried = await site.kubectl(['apply', '--dry-run=server', '-f', '-'], { input: stdout });
    expect(tried).toMatchObject({ exitCode: 0 });
    expect(tried.stdout).toContain(`namespace/${namespace}`);
    expect(tried.stdout).toContain(
      'rolebinding.rbac.authorization.k8s.io/rendered-ood-user created',
    );
  });

  it('takes the identity of an unknown user from the command line', async () => {
    const { stdout } = await portal.berth('render', ...unknownUser);
    expect(documents(stdout)[0]?.metadata.annotations).toMatchObject({
      'openondemand.org/uid': '5001',
      'openondemand.org/gid': '5001',
      'openondemand.org/groups': '5001,6000',
    });
  });

  it('takes the identity of a known user from this host', async () => {
    const { stdout } = await portal.berth('render', '--user', 'alice');
    const { stdout: uid } = await execa('id', ['-u', 'alice']);
    expect(documents(stdout)[0]?.metadata.annotations).toMatchObject({
      'openondemand.org/uid': uid,
    });
  });

  it('works with an unreachable cluster', async () => {
    const dead = await Portal.make(site, {
      clusters: { dead: { server: { endpoint: 'https://127.0.0.1:1' } } },
    });
    expect(await dead.berth('render', ...unknownUser)).toMatchObject({ exitCode: 0, stderr: '' });
    await dead.remove();
  });

  it('leaves the Secret out, so that applying the output does not overwrite it', async () => {
    const { stdout } = await portal.berth('render', ...unknownUser);
    expect(documents(stdout).some(({ kind }) => kind === 'Secret')).toBe(false);
    expect(stdout).toContain(`# Secret ${namespace}/${pullSecretName} is left out`);
    expect(stdout).not.toContain('dXNlcjpwYXNz');
  });

  it('prints the Secret into a pipe with --show-secrets', async () => {
    const { stdout } = await portal.berth('render', ...unknownUser, '--show-secrets');
    const secret = documents(stdout).find(({ kind }) => kind === 'Secret');
    const config = Buffer.from(secret?.data?.['.dockerconfigjson'] ?? '', 'base64').toString();
    expect(config).toContain('dXNlcjpwYXNz');
  });

  it.each([
    ['022', 64],
    ['077', 0],
  ])('into a file created with umask %s: exit %i', async (umask, exitCode) => {
    const file = join(portal.directory, `out-${umask}`);
    const command = [
      join(installDirectory, 'berth'),
      'render',
      ...unknownUser,
      '--show-secrets',
      '--config',
      portal.files.berth,
    ];
    const script = `umask ${umask}; exec "$@" > ${file}`;
    const result = await execa('sh', ['-c', script, 'sh', ...command], { reject: false });
    expect(result.exitCode).toBe(exitCode);
    if (exitCode !== 0) expect(result.stderr).toContain('umask 077');
  });

  it('asks for the cluster if there are several', async () => {
    await portal.writeCluster('other');
    const { exitCode, stderr } = await portal.berth('render', ...unknownUser);
    await rm(join(portal.files.clustersDir, 'other.yml'));
    expect(exitCode).toBe(64);
    expect(stderr).toBe(
      'berth: several clusters are configured: other, prod [usage]\nnext: Select one with --cluster, because each cluster has its own settings.',
    );
  });

  it('leaves the defaults out for an old cluster, and prints what that means', async () => {
    const file = join(portal.directory, 'admission.yml');
    const policies = async (text: string, ...args: string[]) => {
      await writeFile(file, text);
      return portal.run('berth', ['render', 'policies', '--parameters', file, ...args]);
    };

    for (const version of ['1.34', 'v1.35.4']) {
      const old = await policies('{}', '--kubernetes', version);
      expect(old.stdout).not.toContain('kind: Mutating');
      expect(old.stdout).toContain('kind: ValidatingAdmissionPolicyBinding');
      expect(old.stderr).toContain(
        "OnDemand's adapter do not set supplementalGroupsPolicy: Strict",
      );
    }
    const merge = 'supplemental_groups_policy: Merge';
    // Who brings the image writes its /etc/group: then the images must be the site's.
    const warned = await policies(merge, '--kubernetes', '1.33');
    expect(warned.stderr).toContain('restrict images in admission.yml');
    const images = `${merge}\nimages: [registry.example.org/site/*]`;
    expect((await policies(images, '--kubernetes', '1.33')).stderr).toBe('');
    for (const args of [[], ['--kubernetes', '1.36']]) {
      const { stdout, stderr } = await policies('{}', ...args);
      expect(stdout).toContain('kind: MutatingAdmissionPolicyBinding');
      expect(stderr).toBe('');
    }
  });

  it.each([
    [['--user', 'nobody-of-that-name'], 67, 'user-unknown'],
    [['--user', '../etc', '--uid', '1', '--gid', '1'], 64, 'user-name-invalid'],
    [['--user', 'x', '--uid', '-3', '--gid', '1'], 64, 'usage'],
    [['--user', 'x', '--uid', '3000'], 64, 'usage'],
    [['--user', 'alice', '--cluster', 'prd'], 64, 'cluster-unknown'],
  ])('%j: exit %i, %s', async (args, exitCode, code) => {
    const result = await portal.berth('render', ...args);
    expect(result).toMatchObject({ exitCode, stdout: '' });
    expect(result.stderr).toContain(`[${code}]`);
    expect(result.stderr).toMatch(/\nnext: \S/);
  });

  it('escapes control characters of a file', async () => {
    const file = join(portal.directory, 'berth-bad.yml');
    await writeFile(file, '"\\e[31mred": 1\n', { mode: 0o644 });
    const { exitCode, stderr } = await portal.run('berth', [
      'render',
      '--user',
      'alice',
      '--config',
      file,
    ]);
    expect(exitCode).toBe(78);
    expect(stderr).not.toContain('\u001b');
  });
});
