import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { Portal } from '../../rig/site/portal.ts';
import { Browser } from '../../rig/site/browser.ts';
import { OndemandApache, type PortalYml } from './ondemand-apache.ts';
import { UserKubectl } from '../../rig/site/user-kubectl.ts';

/** What the README said before, which OnDemand's own documentation says too. */
const former: PortalYml = {
  pun_pre_hook_exports: 'OIDC_ACCESS_TOKEN,OIDC_ID_TOKEN,OIDC_REFRESH_TOKEN',
  oidc_settings: { OIDCPassIDTokenAs: 'serialized', OIDCPassRefreshToken: 'On' },
};
const [block] = codeBlocks('docs/getting-started-portal.md').filter(({ text }) =>
  text.includes('/etc/ood/config/ood_portal.yml'),
);
const readme = parse(block?.text ?? '') as PortalYml;
const ownNames: PortalYml = {
  ...readme,
  pun_pre_hook_exports: 'OIDC_access_token,OIDC_id_token,OIDC_refresh_token',
};

let site: Site;
let apache: OndemandApache;
let portal: Portal;
let newcomers: TestUsers;
let ada: TestUser;
let browser: Browser;
let kubectl: UserKubectl;

beforeAll(async () => {
  site = await openSite();
  newcomers = new TestUsers(new LiveCluster(site));
  ada = await newcomers.create('oa-ada');
  await site.keycloak.addUser(ada.name);
  portal = await Portal.make(site);
  await portal.useExchange();
  kubectl = new UserKubectl(site, ada);
  apache = await OndemandApache.start(site, [former, readme, ownNames]);
  browser = new Browser(site.ca.pem);
});
afterAll(async () => {
  await apache.stop();
  await portal.remove();
  await newcomers.removeNamespaces();
});

/** What of a token or of the session is among the headers. */
function secretsIn(headers: object): string[] {
  return Object.entries(headers)
    .filter(([name, value]) => /token|authorization|cookie/.test(name) && String(value).length > 20)
    .map(([name]) => name);
}

/** A visit of ada's to the server of somebody else, and what that server saw. */
async function visit(index: number): Promise<string[]> {
  const page = await browser.open(apache.rnode(index), ada.name);
  expect(page).toMatchObject({ status: 200, text: 'from a server of another user' });
  return secretsIn(apache.seen);
}

describe('a server of another user behind /rnode', () => {
  it('gets ID token, refresh token and session cookie with the settings that everybody has', async () => {
    expect((await visit(0)).sort()).toEqual(['cookie', 'oidc_id_token', 'oidc_refresh_token']);
    // It is the session itself: with it, the owner of the server is ada.
    const stolen = await fetch(`${apache.urls[0]}/pun/`, {
      headers: { cookie: String(apache.seen.cookie) },
      redirect: 'manual',
    });
    expect(stolen.status).toBe(200);
  });

  it('gets none of them with those of the README', async () => {
    expect(await visit(1)).toEqual([]);
    expect(browser.cookies(apache.urls[1] ?? '')).toContain('mod_auth_openidc_session=');
  });
});

describe('the hook', () => {
  it.each([
    ['upper case, as the README has them', 1],
    ['the case of mod_auth_openidc', 2],
  ])('gets the tokens of exports in %s, and kubectl works', async (_case, index) => {
    const { text } = await browser.open(`${apache.urls[index]}/pun/`, ada.name);
    const exported = Object.fromEntries(
      text.split('\n').flatMap((line) => {
        const [, name, value] = /^(\w+)=(.+)$/.exec(line) ?? [];
        return name === undefined ? [] : [[name, value]];
      }),
    ) as Record<string, string>;
    expect(Object.keys(exported)).toHaveLength(3);

    const { exitCode, stderr } = await portal.run(
      'hooks/pre-pun',
      ['--user', ada.name, '--config', portal.files.berth],
      {},
      exported,
    );
    expect(exitCode, stderr).toBe(0);
    expect(await kubectl.whoami()).toBe(`oidc:${ada.name}`);
    await kubectl.removeCredential();
  });
});
