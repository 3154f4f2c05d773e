import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, assert, beforeAll, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { publicDirectory } from '../../rig/site/directories.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { BrokerHost } from '../../rig/broker/broker-host.ts';

const cluster = `v2:
  job:
    adapter: kubernetes
    auth: {type: oidc}
    server: {endpoint: 'https://127.0.0.1:9'}
`;

let directory: string;
let host: BrokerHost;
beforeAll(async () => {
  if (!BrokerHost.isSupported) return;
  directory = await mkdtemp(join(publicDirectory, 'sandbox-'));
  await mkdir(join(directory, 'clusters.d'));
  await writeFile(join(directory, 'clusters.d/prod.yml'), cluster);
  await writeFile(join(directory, 'ood_portal.yml'), 'pun_pre_hook_root_cmd: /bin/true\n');
  const options = { config: '', stateDir: join(directory, 'state') };
  host = await BrokerHost.boot({ command: ['/bin/true'], ...options });
});
afterAll(async () => {
  if (!BrokerHost.isSupported) return;
  await host.stop();
  await rm(directory, { recursive: true });
});

interface Check {
  readonly id: string;
  readonly status: string;
  readonly message: string;
  readonly next?: string;
}

/** What doctor says on a host whose Apache has these lines in its unit. */
async function sandbox(unit: string, lines: string, kubeconfig: string): Promise<Check> {
  const text = `[Service]\nExecStart=/bin/true\n${lines}`;
  await writeFile(join(host.directory, 'units', unit), text);
  await host.systemctl('daemon-reload');
  const config = join(directory, 'berth.yml');
  await writeFile(
    config,
    `hook_env: null
clusters_dir: ${directory}/clusters.d
state_dir: ${directory}/state
defaults: {admin: {kubeconfig: ${kubeconfig}}, credentials: {mode: none}}
`,
  );
  const doctor = ['doctor', '-o', 'json', '--timeout', '2s', '--config', config];
  const [file = '', ...words] = host.enter([join(installDirectory, 'berth'), ...doctor]);
  const { stdout } = await execa(file, words, { reject: false });
  await rm(join(host.directory, 'units', unit));
  const { checks } = berthDocument(stdout) as { checks: Check[] };
  const found = checks.find(({ id }) => id === 'portal-sandbox');
  assert(found, stdout);
  return found;
}

const root = '/root/.kube/config';

describe.skipIf(!BrokerHost.isSupported)('Apache’s unit, of which the hook is a child', () => {
  it.each([
    ['apache2.service', 'InaccessiblePaths=/boot\nInaccessiblePaths=/root\n'],
    ['apache2.service', 'InaccessiblePaths=-/root/.kube\n'],
    ['httpd.service', 'ProtectHome=yes\n'],
  ])('%s hides root’s kubeconfig from it: %j', async (unit, lines) => {
    const { status, message, next } = await sandbox(unit, lines, root);
    expect({ status, message }).toEqual({
      status: 'failed',
      message: `${unit} hides ${root} from the hook`,
    });
    expect(next).toContain(unit);
  });

  it.each([
    ['InaccessiblePaths=/root\n', '/etc/berth/kubeconfig'],
    ['InaccessiblePaths=/rooted -/etc/ssh\n', root],
    ['ProtectHome=read-only\n', root],
    ['', root],
  ])('hides nothing of it: %j and %s', async (lines, kubeconfig) => {
    expect((await sandbox('apache2.service', lines, kubeconfig)).status).toBe('ok');
  });
});
