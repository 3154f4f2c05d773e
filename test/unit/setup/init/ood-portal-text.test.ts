import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { oodPortalWith } from '../../../../src/setup/init/rules/ood-portal-text.ts';

const hook = '/usr/lib/berth/hooks/pre-pun';
const withHook = (text: string) => oodPortalWith(text, hook, ['mod_auth_openidc_session']);
const oidc = {
  OIDCPassIDTokenAs: 'serialized',
  OIDCPassRefreshToken: 'On',
  OIDCPassClaimsAs: 'environment',
  OIDCStripCookies: 'mod_auth_openidc_session',
};

describe("OnDemand's ood_portal.yml", () => {
  it.each(['', '---\n', '# only a comment', 'servername: a\noidc_settings:\n'])(
    'gets the keys if the file is %j',
    (text) => {
      const { text: edited, lost } = withHook(text) ?? { text: '', lost: [] };
      expect(lost).toEqual([]);
      expect(parse(edited)).toMatchObject({
        pun_pre_hook_root_cmd: hook,
        pun_pre_hook_exports: 'OIDC_ACCESS_TOKEN,OIDC_ID_TOKEN,OIDC_REFRESH_TOKEN',
        oidc_settings: oidc,
      });
      expect(withHook(edited)).toEqual({ text: edited, lost: [] });
    },
  );

  it('is edited with a key twice, as OnDemand reads it: the last counts', () => {
    expect(withHook('servername: a\nservername: b\n')?.text).toMatch(
      /^servername: a\nservername: b\n/,
    );
    expect(withHook('pun_pre_hook_root_cmd: /a\npun_pre_hook_root_cmd: /b\n')).toBeUndefined();
  });

  it.each([
    'pun_pre_hook_root_cmd: >\n  /opt/a\n  /opt/b\n',
    'oidc_settings: { OIDCPassClaimsAs: both }\n',
    'pun_pre_hook_exports: [A, B]\n',
    'oidc_settings:\n  OIDCStripCookies: [a, b]\n',
    'oidc_settings: &shared\n  OIDCPassClaimsAs: both\nother: *shared\n',
  ])('is not edited if other keys would change: %j', (text) => {
    expect(withHook(text)).toBeUndefined();
  });

  it('keeps what the site has in lists, and adds what they lack', () => {
    const text = `pun_pre_hook_exports: 'OIDC_CLAIM_groups, oidc_access_token'
oidc_settings:
  oidcstripcookies: "site_session   other"
  OIDCPassIDTokenAs: claims payload
  OIDCPassClaimsAs: environment latin1
  OIDCPassRefreshToken: "on"
`;
    const edited = oodPortalWith(text, hook, ['ood', 'ood_chunks']);
    expect(edited?.lost).toEqual([]);
    expect(parse(edited?.text ?? '')).toEqual({
      pun_pre_hook_root_cmd: hook,
      pun_pre_hook_exports: 'OIDC_CLAIM_groups,oidc_access_token,OIDC_ID_TOKEN,OIDC_REFRESH_TOKEN',
      oidc_settings: {
        oidcstripcookies: 'site_session other ood ood_chunks',
        OIDCPassIDTokenAs: 'claims payload serialized',
        OIDCPassClaimsAs: 'environment latin1',
        OIDCPassRefreshToken: 'on',
      },
    });
  });

  it.each([
    ['pun_pre_hook_root_cmd: /opt/site/hook.sh\n', ['pun_pre_hook_root_cmd: /opt/site/hook.sh']],
    ['pun_pre_hook_root_cmd: /opt/x/berth/hooks/pre-pun\n', []],
    ['oidc_settings:\n  OIDCPassClaimsAs: both\n', ['oidc_settings.OIDCPassClaimsAs: both']],
    [
      'oidc_settings:\n  OIDCPassRefreshToken: Off\n',
      ['oidc_settings.OIDCPassRefreshToken: false'],
    ],
    ['oidc_settings:\n  OIDCPassRefreshToken: On\n', []],
  ])('names what it takes away from %j', (text, lost) => {
    expect(withHook(text)?.lost).toEqual(lost);
  });
});
