import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { HostStatus } from '../../../src/cli/status/host-status.ts';
import { berthDocument } from '../../rig/berth-document.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory, Portal } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';

const berth = join(installDirectory, 'berth');
const berthYml = '/etc/berth/berth.yml';
let portal: Portal;
let host: SshHost;
/** Accepts connections, and never answers. */
let silent: Server;
/** The same for names. */
let nameServer: Socket;

beforeAll(async () => {
  const site = await openSite();
  nameServer = createSocket('udp4').bind(53, '127.0.0.77');
  await once(nameServer, 'listening');
  silent = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const dead = `https://127.0.0.1:${port}`;
  const lost = 'https://lost.example.org:6443';
  portal = await Portal.make(site, {
    clusters: {
      ...{ prod: {}, old: {} },
      ...{ dead: { server: { endpoint: dead } }, lost: { server: { endpoint: lost } } },
    },
  });
  const kubeconfig = parse(await readFile(portal.files.kubeconfig, 'utf8')) as KubeConfig;
  for (const [name, server] of Object.entries({ dead, lost })) {
    kubeconfig.clusters.push({ name, cluster: { server } });
    kubeconfig.contexts.push({ name, context: { cluster: name, user: 'berth-hook' } });
  }
  kubeconfig.users.push({ name: 'old', user: { token: expiredToken } });
  kubeconfig.contexts.push({ name: 'old', context: { cluster: 'c', user: 'old' } });
  await writeFile(portal.files.kubeconfig, stringify(kubeconfig));
  const admin = (context: string) => ({ admin: { kubeconfig: portal.files.kubeconfig, context } });
  await portal.writeBerth({ clusters: { prod: admin('c'), old: admin('old') } });
  await writeFile(join(portal.directory, 'ood_portal.yml'), 'pun_pre_hook_root_cmd: /bin/true\n');
  host = await SshHost.start({
    mode: 'forced',
    users: { ada: [] },
    etc: {
      'berth/berth.yml': await readFile(portal.files.berth, 'utf8'),
      'resolv.conf': 'nameserver 127.0.0.77\n',
    },
  });
});
afterAll(async () => {
  await host.stop();
  await portal.remove();
  silent.close();
  nameServer.close();
});

interface KubeConfig {
  readonly clusters: object[];
  readonly users: object[];
  readonly contexts: object[];
}

/** The claims of a token that expired an hour after it was issued. */
const expiredToken = [{ alg: 'RS256' }, { iat: 1_700_000_000, exp: 1_700_003_600 }, {}]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .join('.');

async function status(): Promise<HostStatus & { readonly code: number | undefined }> {
  const { exitCode, stdout, stderr } = await host.asRoot([berth, 'status', '-o', 'json']);
  expect(stderr).toBe('');
  return { ...(berthDocument(stdout.toString()) as HostStatus), code: exitCode };
}

/** Longer than the limit for a cluster, for a busy machine. Without one the kernel and the resolver wait for minutes. */
const patienceMs = 3_000;

describe('berth status with clusters', () => {
  it('asks each at the same time, and none for long', async () => {
    const started = performance.now();
    const { code, ok, clusters, roles } = await status();
    expect(performance.now() - started).toBeLessThan(patienceMs);
    expect([code, ok, roles.slice(0, 2)]).toEqual([1, false, ['portal', 'login-node']]);
    const seen = (name: string) => clusters.find(({ cluster }) => cluster === name);
    expect(clusters.length).toBe(4);
    expect(seen('prod')).toMatchObject({
      ...{ status: 'ok', account: 'system:serviceaccount:ondemand:berth-hook', token: 'good' },
      milliseconds: expect.any(Number) as number,
    });
    const { tokenIssued, tokenExpires } = seen('prod') ?? {};
    expect(Date.parse(tokenExpires ?? '') - Date.parse(tokenIssued ?? '')).toBe(48 * 3_600_000);
    expect(seen('old')).toMatchObject({
      ...{ status: 'failed', account: null, token: 'expired' },
      tokenExpires: '2023-11-14T23:13:20Z',
      error: {
        code: 'api-unauthorized',
        next: 'berth token setup --cluster old --from ADMIN_KUBECONFIG',
      },
    });
    for (const name of ['dead', 'lost'])
      expect(seen(name)).toMatchObject({
        ...{ status: 'failed', token: 'good', milliseconds: null },
        error: {
          code: 'api-deadline',
          next: `Run \`berth doctor --cluster ${name}\`: it shows which step fails.`,
        },
      });
  });

  it('shows them with the age of the token', async () => {
    const { stdout } = await host.asRoot([berth, 'status']);
    const text = stdout.toString();
    expect(text).toMatch(/\n {2}✓ prod +answers in \d+ ms; token \d+ \w+ old, expires in 2 days\n/);
    expect(text).toMatch(/\n {2}✗ dead +https:\S+: no answer within 0\.5 s/);
    expect(text.replaceAll(/\n +/g, ' ')).toMatch(
      /✗ old .*; its token expired \d+ days ago next: /,
    );
  });

  it('knows what has changed since a login read berth.yml, and its first errors', async () => {
    const ofSite = async () => (await status()).configuration[0];
    // Not in the two seconds after a change.
    await expect
      .poll(async () => {
        await host.asRoot([join(installDirectory, 'hooks/pre-pun'), '--user', 'ada']);
        return (await ofSite())?.keptAt;
      })
      .not.toBeNull();
    expect(await ofSite()).toMatchObject({ status: 'ok', file: berthYml, changed: [] });
    const edit = (script: string) => host.asRoot(['sh', '-ec', script]);
    await edit(`echo '# a comment' >>${berthYml}`);
    expect(await ofSite()).toMatchObject({ status: 'warning', changed: [berthYml] });
    const prod = join(portal.files.clustersDir, 'prod.yml');
    await edit(`cp ${prod} /run/prod.yml; sed -i 's/endpoint: .*/endpoint: x/' ${prod}`);
    const { clusters } = await status();
    expect([await ofSite(), clusters.length]).toMatchObject([
      { status: 'failed', errors: [{ message: expect.stringContaining(prod) as string }] },
      3,
    ]);
    await edit(`cat /run/prod.yml >${prod}; echo 'frobnicate: 1' >>${berthYml}`);
    const broken = await status();
    expect([broken.code, broken.configuration[0]?.errors[0]?.code]).toEqual([
      ...[1, 'berth-yml-invalid'],
    ]);
    expect(broken.images.length).toBe(1);
  });
});
