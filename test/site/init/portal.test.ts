import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { type HookResult, installDirectory, Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { TestUsers } from '../../rig/site/test-users.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
let oodPortal: string;

/** As a site has it, with a secret in it. */
const siteOwn = `# Managed by hand.
servername: portal.example.org
oidc_uri: /oidc
oidc_client_id: ondemand
oidc_client_secret: not-for-the-screen
pun_pre_hook_root_cmd: /opt/site/hook.sh  # OSC's
pun_pre_hook_exports: OIDC_CLAIM_groups
oidc_settings:
    # four blanks
    OIDCPassIDTokenAs: claims
    OIDCStripCookies: site_sso
    OIDCCookie: ood_sess
    OIDCSessionType: client-cookie
`;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site, { hookEnv: { SITE_OWN: 'yes', CLIENT_SECRET: 'hidden-one' } });
  oodPortal = join(portal.directory, 'ood_portal.yml');
  await writeFile(oodPortal, siteOwn, { mode: 0o640 });
  await rm(portal.files.berth);
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
});

const init = (...more: string[]): Promise<HookResult> =>
  portal.berth('init', 'portal', '--yes', '--ood-directory', portal.directory, ...more);
const answers = (): string[] => [
  ...['--subject-prefix', 'oidc:', '--ca-file', site.ca.file],
  ...['--audience', site.keycloak.client('kubernetes').id],
];
const berthYml = async (): Promise<unknown> => parse(await readFile(portal.files.berth, 'utf8'));

describe('berth init portal', () => {
  it("says what becomes of each of OSC's keys, and shows no secret", async () => {
    const { stdout } = await init(...answers(), '--dry-run', '--from-osc', portal.directory);
    expect(stdout).toContain('CLIENT_SECRET=(not shown)');
    expect(stdout).toContain('without a counterpart: SITE_OWN');
    expect(stdout).toContain(`no scripts and manifests in ${portal.directory}: if they are`);
    expect(stdout).toContain('-pun_pre_hook_root_cmd: /opt/site/hook.sh');
    expect(stdout).toMatch(/^\(\d+ lines of comments and empty lines not shown\)$/m);
    expect(stdout).not.toMatch(/hidden-one|not-for-the-screen/);
    expect(await readdir(portal.directory)).not.toContain('berth.yml');
    expect(await readFile(oodPortal, 'utf8')).toBe(siteOwn);
  });

  it("looks for OSC's scripts where they are, and says what it does not see in them", async () => {
    const scripts = join(portal.directory, 'osc');
    await mkdir(scripts);
    await writeFile(join(scripts, 'set-k8s-creds.sh'), 'echo own addition\n');
    const where = ['--from-osc', portal.directory, '--osc-scripts', scripts];
    const { stdout } = await init(...answers(), '--dry-run', ...where);
    const swapped = await init(...answers(), '--dry-run', '--from-osc', scripts);
    await rm(scripts, { recursive: true });
    expect(stdout).toContain(
      `${scripts}/set-k8s-creds.sh: ${join(installDirectory, 'hooks/set-k8s-creds')}\n`,
    );
    expect(stdout).toContain('what you have added to them is not taken over, so compare them');
    expect(swapped.stderr).toMatch(/hook\.env does not exist .*\nnext: Give hook\.env or its dir/);
  });

  it("leaves the site's own pre-hook with --keep-hook", async () => {
    const { stdout, exitCode } = await init(...answers(), '--keep-hook', '--dry-run');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('+pun_pre_hook_exports: "OIDC_CLAIM_groups,OIDC_ACCESS_TOKEN');
    expect(stdout).not.toMatch(/^[+-]pun_pre_hook_root_cmd|would remove/m);
  });

  it('writes which token kubectl gets, only where it differs from the default', async () => {
    const written = async (...more: string[]) =>
      (await init(...answers(), '--keep-hook', '--dry-run', ...more)).stdout;
    const own = /^\+ {4}(exchange|token|exchange_scope): (.*)$/gm;
    const keys = async (...more: string[]) =>
      [...(await written(...more)).matchAll(own)].map(([, key, value]) => `${key}: ${value}`);
    expect(await keys()).toEqual([]);
    expect(await keys('--exchange-scope', 'kubernetes')).toEqual(['exchange_scope: kubernetes']);
    expect(await keys('--token', 'exchange')).toEqual([]);
    expect(await keys('--token', 'access')).toEqual(['exchange: false', 'token: access']);
    expect(await keys('--token', 'id')).toEqual(['exchange: false', 'token: id']);
  });

  it('takes nothing of the site away where nobody can be asked', async () => {
    const { exitCode, stderr } = await init(...answers());
    expect(exitCode).toBe(75);
    expect(stderr).toContain(`${oodPortal} has pun_pre_hook_root_cmd: /opt/site/hook.sh, which`);
    expect(stderr).toContain(
      'next: Remove it from the file if it is no longer needed, keep it with --keep-hook, or',
    );
    expect(await readFile(oodPortal, 'utf8')).toBe(siteOwn);
    expect(await readdir(portal.directory)).not.toContain('berth.yml');
  });

  it('writes a commented berth.yml with the answers, and OnDemand’s keys', async () => {
    const mine = siteOwn.replace(/^pun_pre_hook_root_cmd:.*\n/m, '');
    await writeFile(oodPortal, mine, { mode: 0o640 });
    const { exitCode, stdout, stderr } = await init(...answers());
    // Doctor finds no token, which comes next.
    expect(exitCode, stdout).toBe(0);
    expect(stdout).toMatch(/^\d+ ok, .*[1-9]\d* failed/m);
    expect(await berthYml(), stdout + stderr).toEqual({
      kube_credential: join(installDirectory, 'shell/kube-credential'),
      hook_env: portal.files.hookEnv,
      clusters_dir: portal.files.clustersDir,
      defaults: {
        subject_prefix: 'oidc:',
        credentials: { audience: site.keycloak.client('kubernetes').id, ca_file: site.ca.file },
      },
    });
    expect(await readFile(portal.files.berth, 'utf8')).toContain('# minimum_uid: 1000\n');
    const edited = await readFile(oodPortal, 'utf8');
    expect(edited).toContain('# Managed by hand.\n');
    expect(parse(edited)).toMatchObject({
      oidc_client_secret: 'not-for-the-screen',
      pun_pre_hook_root_cmd: join(installDirectory, 'hooks/pre-pun'),
      pun_pre_hook_exports: 'OIDC_CLAIM_groups,OIDC_ACCESS_TOKEN,OIDC_ID_TOKEN,OIDC_REFRESH_TOKEN',
      oidc_settings: {
        OIDCPassIDTokenAs: 'claims serialized',
        OIDCPassClaimsAs: 'environment',
        OIDCStripCookies: 'site_sso ood_sess ood_sess_chunks ood_sess_0 ood_sess_1',
      },
    });
    const [, kept = ''] = /^ {2}cp -p (\S+) \S+ood_portal\.yml/m.exec(stdout) ?? [];
    expect(await readFile(kept, 'utf8')).toBe(mine);
    expect(stdout).toContain('berth token setup --cluster prod --from ADMIN-KUBECONFIG');
  });

  it("configures a hook that works, and keeps the admin's own keys when it is run again", async () => {
    // What the site's tests need, as an admin would add it.
    const document = parseDocument(await readFile(portal.files.berth, 'utf8'));
    document.set('state_dir', portal.files.stateDir);
    document.setIn(['defaults', 'admin'], { kubeconfig: portal.files.kubeconfig });
    document.setIn(['defaults', 'credentials', 'exchange'], false);
    document.setIn(['defaults', 'credentials', 'token'], 'id');
    await writeFile(portal.files.berth, document.toString({ lineWidth: 0 }));
    const before = await readFile(portal.files.berth, 'utf8');
    const again = await init();
    expect(again.stdout).toContain('nothing to change');
    expect(again.stdout).not.toMatch(/: new|: changed|differs/);
    expect(await readFile(portal.files.berth, 'utf8')).toBe(before);

    const { name, namespace } = await newcomers.create('init-ida');
    await site.keycloak.addUser(name);
    const login = await portal.prePun(name, await portal.login(name));
    expect(login, login.stderr).toMatchObject({ exitCode: 0 });
    expect(await cluster.get('namespace', namespace)).toBeDefined();
  });

  it('changes one key of a berth.yml, with all comments kept, if it is asked to', async () => {
    const before = await readFile(portal.files.berth, 'utf8');
    const { stdout } = await init('--subject-prefix', 'kc:');
    expect(stdout).toMatch(/^-.*subject_prefix: "?oidc:/m);
    const after = await readFile(portal.files.berth, 'utf8');
    expect(after.split('\n').filter((line) => !before.includes(line))).toEqual([
      expect.stringContaining('subject_prefix:'),
    ]);
  });
});

describe('berth init cluster', () => {
  const addCluster = (...more: string[]): Promise<HookResult> =>
    portal.berth(
      ...['init', 'cluster', '--yes', '--name', 'added', '--kubeconfig', site.adminKubeconfig],
      ...['--kubectl', site.kubectlPath, '--ood-directory', portal.directory, ...more],
    );

  it('names the options that have no default', async () => {
    const { exitCode, stderr } = await portal.berth('init', 'cluster', '--yes');
    expect(exitCode).toBe(64);
    expect(stderr).toContain('there is no default for --name, --kubeconfig [usage]');
  });

  it('adds a cluster to which users can log in, and finds nothing to do the second time', async () => {
    await init('--subject-prefix', 'oidc:');
    await rm(join(portal.files.clustersDir, 'prod.yml'));
    const added = await addCluster();
    expect(added.stdout, added.stderr).toContain('clusters.d/added.yml: written');
    const file = join(portal.files.clustersDir, 'added.yml');
    expect(parse(await readFile(file, 'utf8'))).toMatchObject({
      v2: {
        job: { namespace_prefix: 'u-', auth: { type: 'oidc' }, server: { endpoint: site.server } },
      },
    });
    const { name, namespace } = await newcomers.create('init-ivo');
    await site.keycloak.addUser(name);
    const login = await portal.prePun(name, await portal.login(name));
    expect(login.stderr).toMatch(/cluster=added/);
    expect(login, login.stderr).toMatchObject({ exitCode: 0 });
    expect(await cluster.get('namespace', namespace)).toBeDefined();

    const again = await addCluster();
    expect(again.stdout, again.stderr).toContain('nothing to change');
  });
});
