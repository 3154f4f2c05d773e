import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { berthDocument } from '../../rig/berth-document.ts';
import { capiObjects } from '../../rig/site/cluster-api/cluster-objects.ts';
import type { LiveCluster } from '../../rig/site/live-cluster.ts';
import { installDirectory, type Portal } from '../../rig/site/portal.ts';
import { freePorts } from '../../rig/free-ports.ts';
import type { Site } from '../../rig/site/site.ts';
import type { TestUsers } from '../../rig/site/test-users.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { yamlBombs } from '../../rig/yaml-bombs.ts';
import { fleet, Management, other } from './management.ts';
import { SystemdHost } from '../../rig/systemd/systemd-host.ts';

let management: Management;
let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
let caDir: string;
let newcomer: string;

beforeAll(async () => {
  management = await Management.open();
  ({ site, cluster, newcomers, portal, caDir } = management);
});
afterAll(() => management.close(), 120_000);

const discover: Management['discover'] = (...more) => management.discover(...more);
const changes: Management['changes'] = (...more) => management.changes(...more);
const summary: Management['summary'] = (...more) => management.summary(...more);
const makeCluster: Management['makeCluster'] = (...of) => management.makeCluster(...of);
const keepKubeconfig: Management['keepKubeconfig'] = (...of) => management.keepKubeconfig(...of);
const deleteCluster: Management['deleteCluster'] = (...of) => management.deleteCluster(...of);
const names = async (): Promise<readonly string[]> =>
  (await readdir(portal.files.clustersDir)).sort();

describe('berth clusters discover', () => {
  it('lists what it would write in a dry run, and writes nothing', async () => {
    await makeCluster(fleet, 'self');
    await makeCluster(fleet, 'young');
    await keepKubeconfig(fleet, 'self');
    const before = await readFile(portal.files.berth, 'utf8');
    const found = await changes('--dry-run');
    expect(found).toMatchObject([
      { name: 'self', change: 'new', credentials: 'oidc', endpoint: site.server },
      { name: 'young', change: 'skipped', reason: 'it has no Secret with its kubeconfig yet' },
    ]);
    expect(await names()).toEqual([]);
    expect(await readFile(portal.files.berth, 'utf8')).toBe(before);
  });

  it('makes a login work on a cluster that manages itself', async () => {
    const { stdout } = await discover();
    expect(stdout).toContain('next: berth token setup --cluster self');
    const { clusters } = parse(await readFile(portal.files.berth, 'utf8')) as { clusters: object };
    expect(clusters).toEqual({
      self: {
        admin: {
          context: `berth-hook@${fleet}/self`,
          cluster_api: { kubeconfig: site.adminKubeconfig, namespace: fleet, cluster: 'self' },
        },
        subject_prefix: 'oidc:',
        credentials: {
          issuer: site.keycloak.issuer,
          audience: site.keycloak.client('kubernetes').id,
          username_claim: 'preferred_username',
        },
      },
    });
    const token = await portal.berth('token', 'setup', '--cluster', 'self');
    expect(token, token.stderr).toMatchObject({ exitCode: 0 });
    const { name, namespace } = await newcomers.create('disco-dan');
    newcomer = name;
    await site.keycloak.addUser(name);
    const login = await portal.prePun(name, await portal.login(name));
    expect(login, login.stderr).toMatchObject({ exitCode: 0 });
    expect(await cluster.get('namespace', namespace)).toBeDefined();
  });

  it('has settings that doctor compares with those of the API servers', async () => {
    const compared = async (): Promise<unknown> => {
      const { stdout } = await portal.berth('doctor', '-o', 'json');
      const { checks } = berthDocument(stdout) as { checks: { id: string }[] };
      return checks.find(({ id }) => id === 'cluster-api-oidc');
    };
    expect(await compared()).toMatchObject({ status: 'ok', cluster: 'self' });
    const right = await readFile(portal.files.berth, 'utf8');
    await writeFile(portal.files.berth, right.replaceAll('preferred_username', 'email'));
    expect(await compared()).toMatchObject({
      status: 'failed',
      message: expect.stringContaining(
        "credentials.username_claim is 'email', there it is 'preferred_username'",
      ) as unknown,
    });
    await writeFile(portal.files.berth, right);
  });

  it('changes nothing the second time, and follows another CA', async () => {
    expect(await summary()).toEqual(['self unchanged', 'young skipped']);
    const ca = await readFile(join(caDir, 'self.pem'), 'utf8');
    const twice = Buffer.from(`${ca}${ca}`).toString('base64');
    await keepKubeconfig(fleet, 'self', (text) =>
      text.includes('certificate-authority-data')
        ? text.replace(/certificate-authority-data: \S+/, `certificate-authority-data: ${twice}`)
        : text.replace(/certificate-authority: \S+/, `certificate-authority-data: ${twice}`),
    );
    expect(await summary()).toEqual(['self changed', 'young skipped']);
    expect(await readFile(join(caDir, 'self.pem'), 'utf8')).toBe(`${ca}${ca}`);
  });

  it('leaves a name with the Cluster that has it, and a CA that it did not write', async () => {
    const before = await readFile(portal.files.berth, 'utf8');
    await makeCluster(other, 'self');
    expect(await summary()).toEqual(['self skipped', 'self unchanged', 'young skipped']);
    await keepKubeconfig(other, 'self');
    expect(await summary()).toEqual([`${other}-self new`, 'self unchanged', 'young skipped']);
    await deleteCluster(other, 'self');
    expect(await summary()).toEqual([`${other}-self removed`, 'self unchanged', 'young skipped']);

    const siteCa = join(caDir, 'site-ca.pem');
    await writeFile(siteCa, "the site's own\n");
    await makeCluster(other, 'site-ca');
    await keepKubeconfig(other, 'site-ca');
    expect(await changes()).toContainEqual(
      expect.objectContaining({
        name: 'site-ca',
        reason: expect.stringContaining(siteCa) as string,
      }),
    );
    expect(await readFile(siteCa, 'utf8')).toBe("the site's own\n");
    expect(await readFile(portal.files.berth, 'utf8')).toBe(before);
    await deleteCluster(other, 'site-ca');
  });

  it("keeps the admin's edits, and files of the admin's own", async () => {
    const file = join(portal.files.clustersDir, 'self.yml');
    const edited = (await readFile(file, 'utf8')).replace('title: self', 'title: Our own # ours');
    await writeFile(file, edited);
    await writeFile(join(portal.files.clustersDir, 'young.yml'), 'v2: {}\n');
    await keepKubeconfig(fleet, 'young');
    const found = await changes();
    expect(found.find(({ name }) => name === 'young')?.reason).toContain('was not made for it');
    expect(await readFile(file, 'utf8')).toBe(edited);
    expect(await readFile(join(portal.files.clustersDir, 'young.yml'), 'utf8')).toBe('v2: {}\n');
  });

  it('names clusters of one name after their namespaces, and uses tokens of accounts without OIDC', async () => {
    for (const namespace of [fleet, other]) {
      await makeCluster(namespace, 'twin', false);
      await keepKubeconfig(namespace, 'twin');
    }
    expect(await summary()).toContain(`${other}-twin new`);
    const { clusters } = parse(await readFile(portal.files.berth, 'utf8')) as {
      clusters: Readonly<Record<string, unknown>>;
    };
    expect(clusters[`${fleet}-twin`]).toMatchObject({ credentials: { mode: 'service-account' } });
  });

  it('removes what belongs to a Cluster that is gone, and refuses to remove all', async () => {
    await cluster.kubectl(['delete', 'cluster', 'twin', '-n', other]);
    expect(await summary()).toEqual(
      expect.arrayContaining([`${fleet}-twin unchanged`, `${other}-twin removed`]),
    );
    expect(await names()).toEqual([`${fleet}-twin.yml`, 'self.yml', 'young.yml']);
    expect(await readFile(portal.files.berth, 'utf8')).not.toContain(`${other}-twin`);

    await cluster.kubectl(['delete', 'cluster', '--all', '-n', fleet]);
    const { exitCode, stderr } = await discover();
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 78 });
    expect(stderr).toContain('[clusters-all-gone]');
    expect(await names()).toEqual([`${fleet}-twin.yml`, 'self.yml', 'young.yml']);
    expect(await summary('--allow-none')).toEqual([`${fleet}-twin removed`, 'self removed']);
    expect(await names()).toEqual(['young.yml']);
  });

  it('skips a Cluster that names an issuer of its own, or is broken, and handles the others', async () => {
    const args = management.withArgument('oidc-issuer-url', 'https://evil.example.org');
    await cluster.create(...capiObjects({ namespace: other, name: 'foreign' }, args));
    const texts = { broken: '{ [', ...yamlBombs, whole: undefined, foreign: undefined };
    for (const [name, text] of Object.entries(texts)) {
      if (name !== 'foreign') await makeCluster(other, name);
      await keepKubeconfig(other, name, (own) => text ?? own);
    }
    const { exitCode, stdout, stderr } = await discover();
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 78 });
    expect(stdout).toMatch(/^foreign: skipped: .*the issuer https:\/\/evil\.example\.org/m);
    expect(stdout.match(/^(broken: skipped|.*\[kubeconfig-too-large\])/gm)).toHaveLength(3);
    expect(stdout).toMatch(/^whole: new$/m);
    expect(await readFile(portal.files.berth, 'utf8')).not.toContain('evil');
    const allowed = await discover('--issuer', 'https://evil.example.org');
    expect(allowed.stdout).toMatch(/^foreign: new$/m);
    for (const name of Object.keys(texts)) await deleteCluster(other, name);
    await discover('--allow-none');
  });

  it("uses no token of the Cluster that had a new one's name before", async () => {
    await makeCluster(other, 'self');
    await keepKubeconfig(other, 'self');
    expect(await summary()).toEqual(['self new']);
    const login = await portal.prePun(newcomer, await portal.login(newcomer));
    expect(login.stderr).toContain('code=hook-token-missing');
    expect(login.exitCode).not.toBe(0);
    await portal.berth('token', 'rotate');
    expect(await readFile(portal.files.kubeconfig, 'utf8')).not.toContain(`${other}/self`);
    await deleteCluster(other, 'self');
  });
});

describe('berth-clusters-discover.timer', () => {
  let host: SystemdHost;
  beforeAll(async () => {
    const { admin } = await freePorts(['admin']);
    host = await SystemdHost.boot({
      ...{ name: 'portal1', address: '127.18.3.1', adminPort: admin, adminKey: '' },
    });
    await host.script(`mkdir -p /etc/berth /etc/ood/config/clusters.d
      cp ${installDirectory}/share/etc/systemd/berth-clusters-discover.* /etc/systemd/system/
      sed -i 's,=/usr/lib/berth/berth,=${installDirectory}/berth,' /etc/systemd/system/berth-clusters-discover.service
      sed -i '/RandomizedDelaySec/d; s/OnBootSec=.*/OnActiveSec=1s\\nAccuracySec=1s/' /etc/systemd/system/berth-clusters-discover.timer
      systemctl daemon-reload`);
  });
  afterAll(() => host.stop());

  it('writes the files of a new Cluster, and runs again later', async () => {
    // Without a kubeconfig it does nothing.
    await host.script('systemctl start berth-clusters-discover.service');
    expect(await host.script('ls -A /etc/berth /etc/ood/config/clusters.d')).not.toContain('.yml');

    await makeCluster(fleet, 'timed');
    await keepKubeconfig(fleet, 'timed');
    await host.script(
      `printf 'defaults:\n  credentials:\n    issuer: %s\n' '${site.keycloak.issuer}' >/etc/berth/berth.yml
       install -m 0600 ${site.adminKubeconfig} /etc/berth/management.kubeconfig
       systemctl start berth-clusters-discover.service`,
    );
    const show = 'systemctl show -P Result -P ExecMainStatus berth-clusters-discover.service';
    const log = 'journalctl --no-pager -u berth-clusters-discover 2>&1 || true';
    expect(await host.script(show), await host.script(log)).toBe('success\n0\n');
    expect(
      await host.script('stat -c "%a %U %n" /etc/ood/config/clusters.d/* /etc/berth/clusters/*'),
    ).toBe(
      '644 root /etc/ood/config/clusters.d/timed.yml\n644 root /etc/berth/clusters/timed.pem\n',
    );
    expect(await host.script('cat /etc/berth/berth.yml')).toContain(
      '/etc/berth/management.kubeconfig',
    );

    await cluster.kubectl(['delete', 'cluster', 'timed', '-n', fleet]);
    await makeCluster(fleet, 'next');
    await keepKubeconfig(fleet, 'next');
    await host.script('systemctl start berth-clusters-discover.timer');
    await waitFor({ what: 'the timer to run it', timeoutMs: 90_000, everyMs: 500 }, async () =>
      (await host.script('ls /etc/ood/config/clusters.d')) === 'next.yml\n' ? true : undefined,
    );
    expect(await host.script('ls /etc/berth/clusters')).toBe('next.pem\n');
  });
});
