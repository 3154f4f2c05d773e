import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { OidcSettings, SiteSettings } from '../../../../src/config/schema/settings.ts';
import { checkPortal } from '../../../../src/diagnose/doctor/portal-checks.ts';
import { codeBlocks } from '../../../rig/markdown-pages.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'portal-checks-'));
  await writeFile(join(directory, 'pre-pun'), '', { mode: 0o755 });
});
afterEach(() => rm(directory, { recursive: true }));

type Yml = Readonly<Record<string, unknown>>;

const [block] = codeBlocks('docs/getting-started-portal.md').filter(({ text }) =>
  text.includes('ood_portal.yml'),
);
const readme = parse(block?.text ?? '') as { oidc_settings: Record<string, string> };
/** What a site with OIDC and servers of users has besides. */
const site = {
  oidc_uri: '/oidc',
  oidc_client_id: 'ondemand',
  node_uri: '/node',
  rnode_uri: '/rnode',
};
const settingsWithout = (key: string): Record<string, string> =>
  Object.fromEntries(Object.entries(readme.oidc_settings).filter(([name]) => name !== key));
const without = (key: string): Yml => ({ oidc_settings: settingsWithout(key) });
const withSettings = (more: Record<string, string>): Yml => ({
  oidc_settings: { ...readme.oidc_settings, ...more },
});

const oidc: OidcSettings = {
  mode: 'oidc',
  issuer: 'https://idp.example.org',
  clientId: 'ondemand',
  clientAuth: { method: 'client_secret_basic', secret: 'secret' },
  audience: 'kubernetes',
  exchange: true,
  usernameClaim: 'preferred_username',
  clockSkewSeconds: 60,
  token: 'access',
};

/** What doctor says of a portal, by the check's id. */
async function judge(
  portal: { readonly yml?: Yml; readonly apache?: string; readonly module?: string },
  credentials: OidcSettings = oidc,
): Promise<Record<string, { status: string; message: string; next?: string }>> {
  const put = async (name: string, text: string | undefined): Promise<string> => {
    const file = join(directory, name);
    if (text !== undefined) await writeFile(file, text, { mode: 0o640 });
    return file;
  };
  const hook = { pun_pre_hook_root_cmd: join(directory, 'pre-pun') };
  // By YAML 1.1, which OnDemand's Ruby reads: it quotes 'On'.
  const all = { ...readme, ...site, ...hook, ...portal.yml };
  const yml = portal.yml && stringify(all, { version: '1.1' });
  await put('ood_portal.yml', yml);
  const candidates = [
    {
      module: await put('auth_openidc.conf', portal.module),
      portal: await put('ood-portal.conf', portal.apache),
    },
  ];
  const settings = {
    clustersDir: join(directory, 'clusters.d'),
    clusters: [{ credentials, admin: { file: '/etc/berth/kubeconfig' } }],
  } as unknown as SiteSettings;
  const results = await checkPortal(settings, 2_000, candidates);
  return Object.fromEntries(results.map(({ id, ...finding }) => [id, finding]));
}

const complaints = (findings: Record<string, { status: string }>): string[] =>
  Object.entries(findings)
    // systemd need not run here: test/site/doctor/apache-sandbox.test.ts.
    .filter(([id, { status }]) => status !== 'ok' && id !== 'portal-sandbox')
    .map(([id, { status }]) => `${id} ${status}`);

/** As OnDemand 4.2 writes it, shortened. */
const generated = (settings: Record<string, string>, location = ''): string => `
Listen 443
<VirtualHost *:80>
  RewriteEngine On
</VirtualHost>
# The Open OnDemand portal VirtualHost
<VirtualHost *:443>
  OIDCClientID ondemand
  ${Object.entries(settings)
    .map((pair) => pair.join(' '))
    .join('\n  ')}
  SetEnv OOD_PUN_PRE_HOOK_ROOT_CMD "${join(directory, 'pre-pun')}"
  SetEnv OOD_PUN_PRE_HOOK_EXPORTS "OIDC_ACCESS_TOKEN,OIDC_REFRESH_TOKEN"
  <LocationMatch "^/node/(?<host>[^/]+)/(?<port>\\d+)">
    AuthType openid-connect
    ${location}
    RequestHeader edit* Cookie "mod_auth_openidc_session=[^;]+;" ""
    RequestHeader unset OIDC_access_token
    LuaHookFixups node_proxy.lua node_proxy_handler
  </LocationMatch>
  <Location "/pun">
    LuaHookFixups pun_proxy.lua pun_proxy_handler
  </Location>
</VirtualHost>
`;

describe('an ood_portal.yml', () => {
  it('with the lines of the README is fine', async () => {
    expect(complaints(await judge({ yml: {} }))).toEqual([]);
  });

  it('whose hook others can replace hands them root', async () => {
    await chmod(join(directory, 'pre-pun'), 0o777);
    const found = await judge({ yml: {} });
    expect(complaints(found)).toEqual(['portal-hook failed']);
    expect(found['portal-hook']?.message).toMatch(
      /^root runs the hook, and users other than root can/,
    );
  });

  it('without OIDCPassClaimsAs passes tokens to servers of users', async () => {
    const found = await judge({ yml: without('OIDCPassClaimsAs') });
    expect(complaints(found)).toEqual(['portal-tokens failed']);
    expect(found['portal-tokens']?.message).toMatch(
      /behind \/node or \/rnode receive OIDC_access_token, OIDC_refresh_token, OIDC_id_token /,
    );
    expect(found['portal-tokens']?.next).toContain('OIDCPassClaimsAs: environment');
  });

  it.each([
    ['headers again for one location', { custom_location_directives: ['OIDCPassClaimsAs both'] }],
    ['headers again for the portal', { custom_vhost_directives: ['OIDCPassClaimsAs headers'] }],
    ['tokens in OIDCInfoHook', withSettings({ OIDCInfoHook: 'userinfo access_token' })],
  ])('with %s passes tokens to servers of users', async (_case, yml) => {
    const found = await judge({ yml });
    expect(complaints(found)).toContain('portal-tokens failed');
  });

  it('passes nothing if it strips it or has no servers of users', async () => {
    const both = without('OIDCPassClaimsAs');
    const headers = ['OIDC_access_token', 'oidc_id_token', 'OIDC_refresh_token'];
    const stripped = await judge({ yml: { ...both, strip_proxy_headers: headers } });
    expect(stripped['portal-tokens']?.status).toBe('ok');
    const alone = await judge({ yml: { ...both, node_uri: null, rnode_uri: null } });
    expect(alone['portal-tokens']?.status).toBe('ok');
  });

  it('without OIDCStripCookies, or with the names of other cookies, passes session cookies', async () => {
    const found = await judge({ yml: without('OIDCStripCookies') });
    expect(complaints(found)).toEqual(['portal-session-cookie failed']);
    expect(found['portal-session-cookie']?.next).toContain(
      'OIDCStripCookies: mod_auth_openidc_session',
    );
    const renamed = await judge({ yml: withSettings({ OIDCCookie: 'portal' }) });
    expect(renamed['portal-session-cookie']?.next).toContain('OIDCStripCookies: portal`');
    const chunks = withSettings({
      OIDCSessionType: 'client-cookie',
      OIDCStripCookies: 'mod_auth_openidc_session',
    });
    expect((await judge({ yml: chunks }))['portal-session-cookie']?.message).toContain(
      'mod_auth_openidc_session_0',
    );
  });

  it.each([
    ['OIDC_ACCESS_TOKEN, OIDC_REFRESH_TOKEN', "; not exported: ' OIDC_REFRESH_TOKEN'"],
    ['OIDC_ACCESS_TOKEN', 'lacks OIDC_REFRESH_TOKEN'],
    ['OIDC_Access_Token,OIDC_refresh_token', 'lacks OIDC_ACCESS_TOKEN'],
  ])('with the exports "%s" is told so', async (exports, message) => {
    const found = await judge({ yml: { pun_pre_hook_exports: exports } });
    expect(complaints(found)).toEqual(['portal-exports failed']);
    expect(found['portal-exports']?.message).toContain(message);
    expect(found['portal-exports']?.next).toMatch(/`pun_pre_hook_exports: \S+`/);
  });

  it('may spell the exports as mod_auth_openidc does', async () => {
    const yml = { pun_pre_hook_exports: 'OIDC_access_token,OIDC_refresh_token' };
    expect(complaints(await judge({ yml }))).toEqual([]);
  });

  it.each([
    ['OIDCPassRefreshToken', 'OIDC_refresh_token'],
    ['OIDCPassIDTokenAs', 'OIDC_id_token'],
  ])('without %s exports a variable that does not exist', async (name, token) => {
    const idToken = { ...oidc, exchange: false, token: 'id' } as const;
    const found = await judge({ yml: without(name) }, idToken);
    expect(complaints(found)).toEqual(['portal-exports failed']);
    expect(found['portal-exports']?.message).toContain(token);
    expect(found['portal-exports']?.next).toContain(name);
  });

  it('whose refresh token is true for YAML, which Apache does not take, is told so', async () => {
    const yml = { oidc_settings: { ...readme.oidc_settings, OIDCPassRefreshToken: true } };
    expect(complaints(await judge({ yml }))).toEqual(['portal-exports failed']);
  });

  it('that makes the portal renew is told so, unless kubectl has a refresh token of its own', async () => {
    const yml = withSettings({ OIDCRefreshAccessTokenBeforeExpiry: '60' });
    expect(complaints(await judge({ yml }))).toEqual(['portal-refresh warning']);
    expect(complaints(await judge({ yml }, { ...oidc, ownRefreshToken: true }))).toEqual([]);
  });

  it.each([
    ['no hook', null, 'is not configured to run a pre-PUN hook'],
    ['a hook with arguments', '/bin/true --user', "'/bin/true --user' is not an executable file"],
    ['a hook that does not exist', '/nowhere/pre-pun', 'is not an executable file'],
  ])('with %s is told so', async (_case, command, message) => {
    const found = await judge({ yml: { pun_pre_hook_root_cmd: command } });
    expect(found['portal-hook']).toMatchObject({ status: 'failed' });
    expect(found['portal-hook']?.message).toContain(message);
  });

  it('is skipped if it does not exist or has no OIDC', async () => {
    expect(await judge({})).toMatchObject({ 'portal-hook': { status: 'skipped' } });
    const basic = await judge({ yml: { oidc_uri: null } });
    expect(complaints(basic)).toEqual(['portal-tokens skipped']);
  });
});

describe('the configuration that Apache reads', () => {
  it('is fine with what the README leads to', async () => {
    expect(complaints(await judge({ apache: generated(readme.oidc_settings) }))).toEqual([]);
  });

  it('counts, where ood_portal.yml is right and was not applied', async () => {
    const found = await judge({ yml: {}, apache: generated(settingsWithout('OIDCPassClaimsAs')) });
    expect(complaints(found)).toEqual(['portal-tokens failed']);
    // OnDemand strips the access token by itself.
    expect(found['portal-tokens']?.message).toContain(
      'behind /node receive OIDC_refresh_token, OIDC_id_token of',
    );
    expect(found['portal-tokens']?.next).toMatch(
      /is correct, but Apache's generated configuration is older: run \S+\/update_ood_portal /,
    );
  });

  it('reports a hook that is set but not applied', async () => {
    const without = generated(readme.oidc_settings).replace(/^.*OOD_PUN_PRE_HOOK_ROOT_CMD.*$/m, '');
    const found = await judge({ yml: {}, apache: without });
    expect(complaints(found)).toEqual(['portal-hook failed']);
    expect(found['portal-hook']?.next).toMatch(
      /ood_portal\.yml sets pun_pre_hook_root_cmd, but Apache's generated configuration does not have it: run /,
    );
  });

  it('reports a former hook that still runs', async () => {
    const former = generated(readme.oidc_settings).replace(/pre-pun"/, 'former-hook"');
    const found = await judge({ yml: {}, apache: former });
    expect(complaints(found)).toEqual(['portal-hook failed']);
    expect(found['portal-hook']).toMatchObject({
      message: expect.stringMatching(
        /OnDemand still runs \S+\/former-hook: \S+ names \S+\/pre-pun, but Apache's generated/,
      ) as string,
      next: expect.stringMatching(/^Run \S+\/update_ood_portal and restart Apache/) as string,
    });
  });

  it('counts with what a location says, and with the file of the module', async () => {
    const location = generated(readme.oidc_settings, 'oidcpassclaimsas "both"');
    expect(complaints(await judge({ apache: location }))).toEqual(['portal-tokens failed']);
    const module =
      '<IfModule auth_openidc_module>\nOIDCPassClaimsAs \\\n environment\n</IfModule>\n';
    expect(
      complaints(await judge({ apache: generated(settingsWithout('OIDCPassClaimsAs')), module })),
    ).toEqual([]);
  });
});
