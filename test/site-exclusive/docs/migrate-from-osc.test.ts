import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { type Account, ensureAccount } from '../../rig/site/accounts.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { runOscHook } from '../../rig/site/osc-hooks.ts';
import { hookKubeconfig, type HookResult } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { UserKubectl } from '../../rig/site/user-kubectl.ts';
import { PortalHost } from './portal-host.ts';

const page = 'docs/migrate-from-osc.md';
const oodPortal = 'oidc_uri: /oidc\npun_pre_hook_root_cmd: /opt/site/pre-hook.sh # of the site\n';

const pullSecret = 'registry-of-the-migration';

/** A portal with OSC's hooks, and the commands of the page in their order. */
describe('the migration from OSC’s hooks', () => {
  let site: Site;
  let cluster: LiveCluster;
  let host: PortalHost;
  let alice: Account;
  let kubectl: UserKubectl;

  beforeAll(async () => {
    site = await openSite();
    cluster = new LiveCluster(site);
    alice = await ensureAccount('alice');
    kubectl = new UserKubectl(site, alice);
    host = await PortalHost.make(site);
    await writeFile(host.path('/etc/ood/config/ood_portal.yml'), oodPortal);
    await host.run('npm run install:site -- --prefix /usr/lib/berth');
    await cluster.deleteNamespacesAndWait(['u-alice']);
    await runOscHook(host.portal, cluster, 'alice');
    await oscCredentials();
    for (const words of [
      ['delete', '--ignore-not-found', 'clusterrolebinding/ondemand', 'clusterrole/ondemand'],
      ['delete', '--ignore-not-found', '-n', 'ondemand', 'serviceaccount/ondemand'],
      ['create', 'serviceaccount', 'ondemand', '-n', 'ondemand'],
      ['create', 'clusterrole', 'ondemand', '--verb=get', '--resource=secrets'],
      [
        ...['create', 'clusterrolebinding', 'ondemand', '--clusterrole=ondemand'],
        '--serviceaccount=ondemand:ondemand',
      ],
    ])
      await cluster.kubectl(words);
    // Root's kubeconfig is OSC's, and the pull secret has a name of the site's own.
    const osc = { namespace: 'ondemand', name: 'ondemand' };
    await mkdir(host.path('/root/.kube'));
    await writeFile(rootKubeconfig(), await hookKubeconfig(site, site.server, osc), {
      mode: 0o600,
    });
    await appendFile(host.path('/etc/ood/config/hook.env'), `IMAGE_PULL_SECRET="${pullSecret}"\n`);
    // Which of the portal's tokens is used comes from the page.
    const file = host.path('/etc/berth/berth.yml');
    const document = parseDocument(await readFile(file, 'utf8'));
    for (const key of ['audience', 'exchange', 'token'])
      document.deleteIn(['defaults', 'credentials', key]);
    await writeFile(file, document.toString());
  });
  afterAll(async () => {
    const made = `clusterrole,clusterrolebinding berth-hook-pull-secret-${pullSecret}`;
    await cluster.kubectl(['delete', '--ignore-not-found', ...made.split(' ')]);
    await host.remove();
  });

  const rootKubeconfig = () => host.path('/root/.kube/config');

  /** What OSC's set-k8s-creds.sh has kubectl write. */
  const oscCredentials = async (): Promise<void> => {
    const values = { 'client-id': 'portal', 'client-secret': 'oscsecret', 'refresh-token': 'r' };
    const words = Object.entries(values).map(([key, one]) => `--auth-provider-arg=${key}=${one}`);
    const options = ['--auth-provider=oidc', ...words];
    const set = await kubectl.run('config', 'set-credentials', 'alice', ...options);
    expect(set, set.stderr).toMatchObject({ exitCode: 0 });
  };
  const run = (command: string): Promise<HookResult> =>
    host.run(
      command
        .replace(/^berth /, '/usr/lib/berth/berth ')
        // The kubeconfig is the one that the command names, or else root's own.
        .replace(/^kubectl /, `${site.kubectlPath} `)
        .replace("'kubectl ", `'${site.kubectlPath} `),
      { KUBECONFIG: rootKubeconfig() },
    );
  const pageCommands = (first: string): string[] => {
    const block = codeBlocks(page).find(
      ({ language, text }) => language === 'sh' && text.startsWith(first),
    );
    return (block?.text ?? '').trimEnd().split('\n');
  };
  /** Runs the block of the page that begins so. @returns what it printed */
  const follow = async (first: string): Promise<string> => {
    let printed = '';
    for (const command of pageCommands(first)) {
      const { exitCode, stdout, stderr } = await run(command);
      const expected = command.startsWith('berth plan') ? [0, 1] : [0];
      expect(expected, `${command}\n${stdout}\n${stderr}`).toContain(exitCode);
      printed += stdout;
    }
    return printed;
  };
  const login = async (): Promise<void> => {
    const tokens = host.portal.environment(await host.portal.login('alice'));
    const { exitCode, stderr } = await host.run(
      '/usr/lib/berth/hooks/pre-pun --user alice',
      tokens,
    );
    expect(exitCode, stderr).toBe(0);
  };
  const kubeconfig = () => readFile(kubectl.kubeconfigFile, 'utf8');
  const portalFile = () => readFile(host.path('/etc/ood/config/ood_portal.yml'), 'utf8');

  it('has no command that this test does not run', () => {
    const all = codeBlocks(page).filter(({ language }) => language === 'sh');
    expect(all.map(({ text }) => text.split(' ').slice(0, 2).join(' '))).toEqual([
      'berth init',
      'kubectl --kubeconfig',
      'cp -p',
      'cp -p',
      'grep -ls',
      'grep -ls',
      'chmod 0600',
      'kubectl --kubeconfig',
      'kubectl config',
    ]);
  });

  it('says what becomes of each setting, and changes nothing', async () => {
    const said = await follow('berth init');
    expect(said).toContain('hook.env, which Berth reads as it is');
    expect(await portalFile()).toBe(oodPortal);
  });

  it('prepares the cluster, while OSC’s hook goes on', async () => {
    const [block] = codeBlocks(page).filter(({ language }) => language === 'yaml');
    const { clusters } = parse(block?.text ?? '') as { clusters: object };
    const file = host.path('/etc/berth/berth.yml');
    const document = parseDocument(await readFile(file, 'utf8'));
    document.set('clusters', clusters);
    await writeFile(file, document.toString());
    await follow('kubectl --kubeconfig /root/admin.kubeconfig apply');
    await runOscHook(host.portal, cluster, 'alice');
  });

  it('switches the pilot: the user keeps the namespace, and has no secret any more', async () => {
    const created = async () => {
      const namespace = (await cluster.get('namespace', 'u-alice')) as {
        metadata: { uid: string };
      };
      return namespace.metadata.uid;
    };
    const before = await created();
    await follow('cp -p /etc/ood/config/ood_portal.yml /');
    expect(parse(await portalFile())).toMatchObject({
      pun_pre_hook_root_cmd: host.path('/usr/lib/berth/hooks/pre-pun'),
    });
    await login();
    expect(await created()).toBe(before);
    expect(await kubeconfig()).not.toContain('oscsecret');
    expect(await kubectl.whoami()).toBe('oidc:alice');
  });

  it('leaves a pre-hook of the site’s own with --keep-hook', async () => {
    const applied = await portalFile();
    await writeFile(host.path('/etc/ood/config/ood_portal.yml'), oodPortal);
    const [, , init = ''] = pageCommands('cp -p /etc/ood/config/ood_portal.yml /');
    const { exitCode, stdout, stderr } = await run(`${init} --keep-hook`);
    expect(exitCode, stderr).toBe(0);
    expect(stdout).toMatch(
      /next: have your own pre-hook run, as root: \S+\/hooks\/k8s-bootstrap USER HOOK_ENV and \S+\/set-k8s-creds /,
    );
    expect(parse(await portalFile())).toMatchObject({
      pun_pre_hook_root_cmd: '/opt/site/pre-hook.sh',
      pun_pre_hook_exports: 'OIDC_ACCESS_TOKEN,OIDC_ID_TOKEN,OIDC_REFRESH_TOKEN',
    });
    await writeFile(host.path('/etc/ood/config/ood_portal.yml'), applied);
  });

  it('goes on beside OSC’s hook on another portal, which breaks only the entry of a shared home', async () => {
    await runOscHook(host.portal, cluster, 'alice');
    expect(await kubectl.whoami()).toBe('oidc:alice');
    await oscCredentials();
    expect(await kubectl.whoami()).toContain(
      'authProvider cannot be provided in combination with an exec plugin',
    );
    await login();
    expect(await kubectl.whoami()).toBe('oidc:alice');
  });

  it('leads back to OSC’s hook', async () => {
    await follow('cp -p /etc/ood/config/ood_portal.yml.osc');
    expect(await portalFile()).toBe(oodPortal);
    await follow('grep -ls kube-credential');
    await runOscHook(host.portal, cluster, 'alice');
    await oscCredentials();
    expect(await kubeconfig()).toContain('oscsecret');
    expect(await kubeconfig()).not.toContain('kube-credential');
  });

  it('and forth again, after which OSC’s account can go', async () => {
    await follow('cp -p /etc/ood/config/ood_portal.yml /');
    await login();
    const admin = 'kubectl --kubeconfig /root/admin.kubeconfig delete';
    for (const first of ['grep -ls client-secret', 'chmod', admin]) await follow(first);
    expect(await follow('kubectl config')).toMatch(/^\* +berth-hook@prod /m);
    await login();
    expect(await kubectl.whoami()).toBe('oidc:alice');
    expect(await cluster.get('clusterrole', 'ondemand')).toBeUndefined();
  });
});
