import { describe, expect, it } from 'vitest';
import { ecKey, only, site } from './site-from-texts.ts';

describe('the client’s secret and a cluster of another issuer', () => {
  const issuer = 'https://tenant.example.net';
  const prod = (more: string): string =>
    `clusters: {prod: {credentials: {issuer: "${issuer}", ${more}}}}`;
  const warned = [{ code: 'client-secret-of-other-issuer', file: 'berth.yml' }];

  it('hook.env’s is not used there', () => {
    const input = { berth: `{${prod('audience: portal')}}` };
    expect(only(input).credentials).toMatchObject({ issuer, clientId: 'portal' });
    expect(only(input).credentials).not.toHaveProperty('clientAuth');
    expect(site(input).settings.warnings).toMatchObject(warned);
    const [warning] = site(input).settings.warnings;
    expect(warning?.message).toContain('CLIENT_SECRET');
    expect(warning?.message).not.toContain('s3cret');
  });

  it('hook.env’s is used only for hook.env’s issuer, even if the defaults name another', () => {
    const berth = `defaults: {credentials: {issuer: "${issuer}"}}`;
    expect(only({ berth }).credentials).not.toHaveProperty('clientAuth');
    const same = 'https://idp.example.com/realms/main';
    const back = `{${berth}, clusters: {prod: {credentials: {issuer: "${same}"}}}}`;
    expect(only({ berth: back }).credentials).toMatchObject({ clientAuth: { secret: 's3cret' } });
    const noIssuer = { hookEnv: 'CLIENT_ID=portal\nCLIENT_SECRET=s3cret\n' };
    expect(only({ ...noIssuer, berth }).credentials).toMatchObject({
      clientAuth: { secret: 's3cret' },
    });
    const foreign = `{${prod('audience: portal')}}`;
    expect(only({ ...noIssuer, berth: foreign }).credentials).not.toHaveProperty('clientAuth');
  });

  it.each([
    'client_id: other, client_secret_file: /s',
    'client_id: other, client_secret_file: /s, client_auth_method: client_secret_post',
    'client_id: other, client_key_file: /k, client_key_id: a, client_auth_method: private_key_jwt',
  ])('those of the defaults are not used there: %s', (defaults) => {
    const secrets = { '/s': 'theirs', '/k': ecKey(), '/own': 'ours' };
    const site1 = `defaults: {credentials: {${defaults}}}`;
    expect(only({ berth: site1, secrets }).credentials).toHaveProperty('clientAuth');
    const input = { secrets, berth: `{${site1}, ${prod('audience: other')}}` };
    expect(only(input).credentials).not.toHaveProperty('clientAuth');
    expect(site(input).settings.warnings).toMatchObject(warned);
  });

  it('the cluster’s own is used, with the method of the defaults', () => {
    const berth = `{defaults: {credentials: {client_secret_file: /s, client_auth_method: client_secret_post}}, ${prod('client_secret_file: /own')}}`;
    const input = { berth, secrets: { '/s': 'theirs', '/own': 'ours' } };
    expect(only(input).credentials).toMatchObject({
      clientAuth: { method: 'client_secret_post', secret: 'ours' },
    });
    expect(site(input).settings.warnings).toEqual([]);
  });

  it('an own client_auth_method without an own secret is an error', () => {
    const { broken } = site({ berth: `{${prod('client_auth_method: client_secret_post')}}` });
    expect(broken).toMatchObject([{ cluster: 'prod', error: { code: 'credentials-incomplete' } }]);
  });

  it('there is no warning if the cluster repeats the site’s issuer, or its client is another', () => {
    const same = 'https://idp.example.com/realms/main';
    const repeated = { berth: `clusters: {prod: {credentials: {issuer: "${same}"}}}` };
    expect(only(repeated).credentials).toMatchObject({ clientAuth: { secret: 's3cret' } });
    expect(site(repeated).settings.warnings).toEqual([]);
    expect(site({ berth: `{${prod('client_id: other')}}` }).settings.warnings).toEqual([]);
  });
});
