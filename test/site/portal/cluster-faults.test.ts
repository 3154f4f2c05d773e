import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { errorLines } from '../../rig/log-lines.ts';
import { CertificateAuthority } from '../../rig/site/certificates.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers } from '../../rig/site/test-users.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { hookKubeconfig, Portal, type ClusterFile } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;

const managed: ClusterFile = { auth: { type: 'managed' } };

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
});

afterAll(async () => {
  await newcomers.removeNamespaces();
});

/** The log's lines about one cluster. */
const linesOf = (stderr: string, name: string): string =>
  stderr
    .split('\n')
    .filter((line) => line.includes(` cluster=${name} `) || line.endsWith(` cluster=${name}`))
    .join('\n');

describe('of several clusters', () => {
  let silent: Server;
  const silenced = new Set<Socket>();

  beforeAll(async () => {
    silent = createServer((socket) => silenced.add(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  });

  afterAll(() => {
    for (const socket of silenced) socket.destroy();
    silent.close();
  });

  /** A kubeconfig of root's for one faulty address or certificate. */
  async function kubeconfigFor(portal: Portal, server: string, ca?: string): Promise<string> {
    const document = parse(await hookKubeconfig(site, server)) as {
      clusters: { cluster: Record<string, string> }[];
    };
    const [entry] = document.clusters;
    if (entry !== undefined && ca !== undefined) entry.cluster['certificate-authority'] = ca;
    const file = join(portal.directory, `kubeconfig-${new URL(server).port}${ca ? '-ca' : ''}`);
    await writeFile(file, stringify(document), { mode: 0o600 });
    return file;
  }

  it('an unreachable, slow or misconfigured one affects only itself, and is named with a remedy', async () => {
    const user = await newcomers.create('cl-many');
    const portal = await Portal.make(site, { clusters: {}, hookEnv: { NAMESPACE_PREFIX: '' } });
    const { dead } = await freePorts(['dead']);
    const address = {
      dead: `https://127.0.0.1:${dead}`,
      silent: `https://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    };
    const other = await CertificateAuthority.create(join(portal.directory, 'other-ca'));
    const prefixes = { one: 'c1-', two: 'c2-' };
    const namespaces = Object.values(prefixes).map((prefix) => `${prefix}${user.name}`);
    newcomers.alsoRemove(...namespaces);
    await cluster.deleteNamespacesAndWait(namespaces);
    for (const [name, prefix] of Object.entries(prefixes))
      await portal.writeCluster(name, { ...managed, namespace_prefix: prefix });
    for (const [name, endpoint] of Object.entries(address))
      await portal.writeCluster(name, { ...managed, server: { endpoint } });
    await portal.writeCluster('forged', managed);
    await portal.writeCluster('mistyped', { auth: { type: 'oidcc' } });
    await writeFile(join(portal.files.clustersDir, 'broken.yml'), 'v2:\n  job: [\n');
    await portal.writeCluster('slurm', { adapter: 'slurm' });
    await portal.writeBerth({
      deadline: '3s',
      clusters: {
        dead: { admin: { kubeconfig: await kubeconfigFor(portal, address.dead) } },
        silent: { admin: { kubeconfig: await kubeconfigFor(portal, address.silent) } },
        forged: { admin: { kubeconfig: await kubeconfigFor(portal, site.server, other.cert) } },
      },
    });

    const began = performance.now();
    const { exitCode, stderr } = await portal.prePun(user.name);
    const took = performance.now() - began;

    for (const [name, prefix] of Object.entries(prefixes)) {
      expect(linesOf(stderr, name)).toMatch(/^level=info msg="namespace created"/);
      const binding = `${user.name}-ood-user`;
      expect(await cluster.get('rolebinding', binding, `${prefix}${user.name}`)).toBeDefined();
    }
    const codes = {
      dead: 'api-unreachable',
      silent: 'api-deadline',
      forged: 'api-certificate',
      mistyped: 'cluster-value-invalid',
      broken: 'config-yaml-invalid',
    };
    for (const [name, code] of Object.entries(codes))
      expect(linesOf(stderr, name)).toMatch(
        new RegExp(`^level=error msg=.* code=${code} .*hint="`),
      );
    expect(linesOf(stderr, 'slurm')).toBe('');
    expect(stderr.split('\n')).toHaveLength(7);
    expect(exitCode).toBe(78);
    expect(took).toBeGreaterThan(2_900);
    expect(took).toBeLessThan(4_500);
    await portal.remove();
  });

  it('an unreachable one does not delay the others', async () => {
    const user = await newcomers.create('cl-quick');
    const { dead } = await freePorts(['dead']);
    const endpoint = `https://127.0.0.1:${dead}`;
    const portal = await Portal.make(site, {
      clusters: { alive: managed, dead: { ...managed, server: { endpoint } } },
    });
    const kubeconfig = await kubeconfigFor(portal, endpoint);
    await portal.writeBerth({ clusters: { dead: { admin: { kubeconfig } } } });

    const began = performance.now();
    const { exitCode, stderr } = await portal.prePun(user.name);

    expect(performance.now() - began).toBeLessThan(3_000);
    expect(exitCode).toBe(75);
    expect(linesOf(stderr, 'alive')).toContain('msg="namespace created"');
    await portal.remove();
  });

  it('a hundred are tried, and the one that answers is used', async () => {
    const user = await newcomers.create('cl-hundred');
    const { dead } = await freePorts(['dead']);
    const endpoint = `https://127.0.0.1:${dead}`;
    const names = Array.from({ length: 99 }, (_, index) => `dead${index}`);
    const portal = await Portal.make(site, {
      clusters: {
        alive: managed,
        ...Object.fromEntries(names.map((name) => [name, { ...managed, server: { endpoint } }])),
      },
    });
    const kubeconfig = await kubeconfigFor(portal, endpoint);
    await portal.writeBerth({
      clusters: Object.fromEntries(names.map((name) => [name, { admin: { kubeconfig } }])),
    });

    const { stderr } = await portal.prePun(user.name);

    expect(linesOf(stderr, 'alive')).toContain('msg="namespace created"');
    for (const name of names) expect(linesOf(stderr, name)).toContain('code=api-unreachable');
    const later = await portal.prePun(user.name);
    expect(later.stderr.split('\n')).toHaveLength(2);
    expect(errorLines(later.stderr)).toMatchObject([{ code: 'cluster-skipped' }]);
    await portal.remove();
  });

  describe('one that does not answer', () => {
    interface Setup {
      readonly portal: Portal;
      readonly user: string;
      /** The endpoint of every cluster but `alive`. */
      readonly away: Readonly<Record<string, string>>;
      /** Lets 30 seconds pass for what is known of the clusters. */
      readonly age: () => Promise<void>;
      readonly known: () => Promise<Record<string, number>>;
    }

    async function setUp(
      user: string,
      kinds: readonly ('dead' | 'silent')[],
      deadline = '3s',
    ): Promise<Setup> {
      await newcomers.create(user);
      const portal = await Portal.make(site, { clusters: { alive: managed } });
      const { dead } = await freePorts(['dead']);
      const ports = { dead, silent: (silent.address() as AddressInfo).port };
      const away = Object.fromEntries(
        kinds.map((kind) => [kind, `https://127.0.0.1:${ports[kind]}`]),
      );
      const admin: Record<string, object> = {};
      for (const [name, endpoint] of Object.entries(away)) {
        await portal.writeCluster(name, { ...managed, server: { endpoint } });
        admin[name] = { admin: { kubeconfig: await kubeconfigFor(portal, endpoint) } };
      }
      await portal.writeBerth({ deadline, clusters: admin });
      const file = join(portal.files.stateDir, 'silent-clusters.json');
      const known = async (): Promise<Record<string, number>> =>
        JSON.parse(await readFile(file, 'utf8')) as Record<string, number>;
      const age = async (): Promise<void> => {
        const times = Object.entries(await known()).map(([name, at]) => [name, at - 30]);
        await writeFile(file, JSON.stringify(Object.fromEntries(times)));
      };
      return { portal, user, away, age, known };
    }

    it('delays one login until its deadline, and is one line for the next logins', async () => {
      const { portal, user } = await setUp('cl-silent', ['dead', 'silent']);
      const first = await portal.prePun(user);

      const began = performance.now();
      const next = await portal.prePun(user);
      const took = performance.now() - began;

      const codes = errorLines(first.stderr).map(({ code, cluster }) => `${cluster} ${code}`);
      expect(codes.sort()).toEqual(['dead api-unreachable', 'silent api-deadline']);
      expect(linesOf(next.stderr, 'alive')).toContain('msg="namespace kept"');
      expect(errorLines(next.stderr)).toEqual([
        expect.objectContaining({
          code: 'cluster-skipped',
          clusters: 'dead, silent',
          hint: expect.stringContaining('berth doctor') as unknown,
        }),
      ]);
      expect([first.exitCode, next.exitCode]).toEqual([75, 75]);
      expect(took).toBeLessThan(2_000);
      const { mode, uid } = await stat(join(portal.files.stateDir, 'silent-clusters.json'));
      expect([mode & 0o777, uid]).toEqual([0o600, 0]);
      await portal.remove();
    });

    it('is tried by one login at a time', async () => {
      const { portal, user, age, known } = await setUp('cl-claim', ['silent'], '6s');
      await portal.prePun(user);
      await age();
      const since = (await known()).silent ?? 0;

      let ended = false;
      const asking = portal.prePun(user).finally(() => (ended = true));
      await waitFor({ what: 'the login to begin', timeoutMs: 60_000, everyMs: 20 }, async () =>
        ((await known()).silent ?? 0) > since ? true : undefined,
      );
      const beside = await portal.prePun(user);

      expect(ended).toBe(false);

      const codes = [await asking, beside].map(({ stderr }) => errorLines(stderr)[0]?.code);
      expect(codes).toEqual(['api-deadline', 'cluster-skipped']);
      await portal.remove();
    });

    it('is not asked for a ServiceAccount token either', async () => {
      const { portal, user, away } = await setUp('cl-mint', ['dead']);
      const endpoint = String(away.dead);
      await portal.writeCluster('dead', managed);
      await portal.writeBerth();
      expect(await portal.prePun(user)).toMatchObject({ exitCode: 0 });
      await portal.writeCluster('dead', { ...managed, server: { endpoint } });
      const admin = { kubeconfig: await kubeconfigFor(portal, endpoint) };
      const credentials = { mode: 'service-account' };
      await portal.writeBerth({ clusters: { dead: { admin, credentials } } });

      const first = await portal.prePun(user);
      const next = await portal.prePun(user);

      const codes = [first, next].map(({ stderr }) => errorLines(stderr).map(({ code }) => code));
      expect(codes).toEqual([['api-unreachable', 'api-unreachable'], ['cluster-skipped']]);
      await portal.remove();
    });

    it('is tried again after 30 seconds, and used again once it answers', async () => {
      const { portal, user, age, known } = await setUp('cl-back', ['dead']);
      await portal.prePun(user);
      await age();

      const again = await portal.prePun(user);
      const noted = await known();
      await age();
      await portal.writeBerth();
      await portal.writeCluster('dead', managed);
      const back = await portal.prePun(user);

      expect(linesOf(again.stderr, 'dead')).toContain('code=api-unreachable');
      expect(Object.keys(noted)).toEqual(['dead']);
      expect(linesOf(back.stderr, 'dead')).toContain('msg="namespace kept"');
      expect(back.exitCode).toBe(0);
      expect(await known()).toEqual({});
      await portal.remove();
    });

    it('is always tried if no other answered, or if it is the only one', async () => {
      const { portal, user, away } = await setUp('cl-none', ['dead']);
      const other = { ...managed, server: { endpoint: away.dead } };
      const kubeconfig = await kubeconfigFor(portal, String(away.dead));
      await portal.writeCluster('alive', other);
      await portal.writeBerth({ defaults: { admin: { kubeconfig } } });

      for (const which of ['first', 'later']) {
        const { stderr } = await portal.prePun(user);
        const codes = errorLines(stderr).map(({ code }) => code);
        expect(codes, which).toEqual(['api-unreachable', 'api-unreachable']);
      }
      await rm(join(portal.files.clustersDir, 'alive.yml'));
      await writeFile(
        join(portal.files.stateDir, 'silent-clusters.json'),
        JSON.stringify({ dead: Date.now() / 1000 }),
        { mode: 0o600 },
      );
      const { stderr } = await portal.prePun(user);
      expect(errorLines(stderr).map(({ code }) => code)).toEqual(['api-unreachable']);
      await portal.remove();
    });
  });
});
