import { copyFile, cp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { makePackages } from '../../rig/package/make-packages.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { Portal } from '../../rig/site/portal.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { SystemdHost } from '../../rig/systemd/systemd-host.ts';

const page = 'docs/getting-started-portal.md';
/** Milliseconds. On a new machine Go builds nfpm first. */
const timeout = 600_000;

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
let host: SystemdHost;
let user: TestUser;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  user = await newcomers.create('packaged');
  await site.keycloak.addUser(user.name);
  portal = await Portal.make(site);
  const { admin } = await freePorts(['admin']);
  const options = { name: 'portal', address: '127.18.1.3', adminPort: admin, adminKey: '' };
  host = await SystemdHost.boot(options);
  await makePackages('0.1.0', join(host.directory, 'p'), '--arch', 'amd64', '--format', 'deb');
}, timeout);

afterAll(async () => {
  await newcomers.removeNamespaces();
  await host.stop();
  await portal.remove();
});

/** Files of OnDemand and of the admin, at the places that the page names. */
async function siteFiles(): Promise<void> {
  const at = (name: string): string => join(host.directory, name);
  await copyFile(portal.files.hookEnv, at('hook.env'));
  await cp(portal.files.clustersDir, at('clusters.d'), { recursive: true });
  await copyFile(site.adminKubeconfig, at('admin.kubeconfig'));
  const credentials = {
    ...{ audience: site.keycloak.client('kubernetes').id, ca_file: site.ca.file },
    ...{ exchange: false, token: 'id' },
  };
  const berth = { defaults: { subject_prefix: 'oidc:', credentials } };
  await writeFile(at('berth.yml'), stringify(berth));
  await host.script(`
    cd ${host.directory}
    mkdir -p /etc/ood/config
    cp -r clusters.d /etc/ood/config/
    install -m 0600 hook.env /etc/ood/config/
    install -m 0600 admin.kubeconfig /root/
    install -m 0644 berth.yml /etc/berth/
    useradd --create-home --uid ${user.uid} ${user.name}`);
}

/** The commands of a step of the page. */
function commandsWith(text: string): string {
  const block = codeBlocks(page).find((one) => one.language === 'sh' && one.text.includes(text));
  if (block === undefined) throw new Error(`${page} has no commands with ${text}`);
  return block.text;
}

describe('a portal with the packages', () => {
  it('is ready after the steps of the page', { timeout }, async () => {
    const debs = (await readdir(join(host.directory, 'p')))
      .filter((name) => /^berth(?:-portal)?_.*\.deb$/.test(name))
      .map((name) => join(host.directory, 'p', name));
    const output = await host.script(`apt-get --quiet --yes install ${debs.join(' ')} 2>&1`);
    expect(output).toContain(`(or by hand: /usr/lib/berth/share/${page}, from "2. Configure it")`);
    await siteFiles();
    await host.script(`cd /usr/lib/berth/share\n${commandsWith('token setup')}`);
    expect(await host.script('systemctl is-active berth-token-rotate.timer')).toBe('active\n');
    // It ends with 1, because the user's first login will change something.
    const plan = await host.asRoot(['berth', 'plan', '--user', user.name]);
    expect(plan.exitCode, plan.stderr).toBe(1);
  });

  it('gives a user credentials at login, with which kubectl works', { timeout }, async () => {
    const [block] = codeBlocks(page).filter(({ text }) => text.includes('ood_portal.yml'));
    const { pun_pre_hook_root_cmd: hook = '' } = parse(block?.text ?? '') as Record<string, string>;
    const given = Object.entries(portal.environment(await portal.login(user.name)));
    const environment = given.map(([name, value]) => `${name}=${value}`);
    const login = await host.asRoot([
      'env',
      ...environment,
      'HOME=/root',
      hook,
      '--user',
      user.name,
    ]);
    expect(login.exitCode, login.stderr).toBe(0);
    expect(await cluster.get('namespace', user.namespace)).toBeDefined();
    const kubectl = [site.kubectlPath, 'auth', 'whoami', '-o', 'json'];
    const asUser = ['runuser', '-u', user.name, '--', 'env', `HOME=/home/${user.name}`];
    const whoami = await host.asRoot([...asUser, ...kubectl]);
    expect(whoami.exitCode, whoami.stderr).toBe(0);
    expect(whoami.stdout.toString()).toContain(`oidc:${user.name}`);
  });
});
