import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { oodPortalWith } from '../../../src/init/rules/ood-portal-text.ts';

const hook = '/usr/lib/berth/hooks/pre-pun';
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
      const edited = oodPortalWith(text, hook) ?? '';
      expect(parse(edited)).toMatchObject({
        pun_pre_hook_root_cmd: hook,
        pun_pre_hook_exports: 'OIDC_ACCESS_TOKEN,OIDC_ID_TOKEN,OIDC_REFRESH_TOKEN',
        oidc_settings: oidc,
      });
      expect(oodPortalWith(edited, hook)).toBe(edited);
    },
  );

  it.each([
    'pun_pre_hook_root_cmd: >\n  /opt/a\n  /opt/b\n',
    'oidc_settings: { OIDCPassClaimsAs: both }\n',
    'oidc_settings: &shared\n  OIDCPassClaimsAs: both\nother: *shared\n',
  ])('is not edited if other keys would change: %j', (text) => {
    expect(oodPortalWith(text, hook)).toBeUndefined();
  });
});
