import { writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { CertificateAuthority } from '../site/certificates.ts';
import { LiveCluster } from '../site/live-cluster.ts';
import { Newcomers } from '../site/newcomers.ts';
import { freePorts } from '../site/ports.ts';
import { hookKubeconfig, Portal, type ClusterFile } from '../site/portal.ts';
import { openSite, type Site } from '../site/site.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: Newcomers;

const managed: ClusterFile = { auth: { type: 'managed' } };

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new Newcomers(cluster);
});

afterAll(async () => {
  await newcomers.leave();
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
    const file = join(portal.folder, `kubeconfig-${new URL(server).port}${ca ? '-ca' : ''}`);
    await writeFile(file, stringify(document), { mode: 0o600 });
    return file;
  }

  it('each that is dead, slow or wrong costs its own part only, and says which and what to do', async () => {
    const user = await newcomers.come('cl-many');
    const portal = await Portal.make(site, { clusters: {}, hookEnv: { NAMESPACE_PREFIX: '' } });
    const { dead } = await freePorts(['dead']);
    const address = {
      dead: `https://127.0.0.1:${dead}`,
      silent: `https://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    };
    const other = await CertificateAuthority.create(join(portal.folder, 'other-ca'));
    const prefixes = { one: 'c1-', two: 'c2-' };
    const namespaces = Object.values(prefixes).map((prefix) => `${prefix}${user.name}`);
    newcomers.remember(...namespaces);
    await cluster.namespacesGone(namespaces);
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
      mistyped: 'cluster-bad-value',
      broken: 'config-broken-yaml',
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

  it('a dead one among them does not keep the others waiting', async () => {
    const user = await newcomers.come('cl-quick');
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

  it('a hundred are read, and the one that answers is served', async () => {
    const user = await newcomers.come('cl-hundred');
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
    await portal.remove();
  });
});
