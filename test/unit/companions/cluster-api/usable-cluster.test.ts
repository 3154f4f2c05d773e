import { describe, expect, it } from 'vitest';
import { problemOfCluster } from '../../../../src/companions/cluster-api/rules/usable-cluster.ts';

const issuer = 'https://idp.example.com/realms/main';
const ca = '-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n';
const oidc = { issuer, audience: 'kube', usernameClaim: 'sub', usernamePrefix: '' };
const usable = {
  ...{ cluster: { namespace: 'fleet', name: 'a', deleting: false } },
  ...{ endpoint: 'https://192.0.2.1:6443', ca, oidc },
};

describe('a cluster of somebody else', () => {
  it('is used if its address, CA and issuer can be trusted', () => {
    expect(problemOfCluster(usable, [issuer])).toBeUndefined();
    expect(problemOfCluster({ ...usable, ca: `${ca}${ca}` }, [issuer])).toBeUndefined();
  });

  it.each([
    [{ endpoint: 'http://192.0.2.1' }, 'is not an https URL'],
    [{ endpoint: 'https://a:b@192.0.2.1' }, 'has a user name or password'],
    [{ ca: 'ssh-ed25519 AAAA' }, 'is not a PEM certificate'],
    [{ ca: `${ca}ssh-ed25519 AAAA` }, 'is not a PEM certificate'],
    [{ oidc: { ...oidc, issuer: 'http://idp.example.com' } }, 'is not an https URL'],
    [{ oidc: { ...oidc, audience: '' } }, 'have no --oidc-client-id'],
    [{ oidc: { ...oidc, issuer: 'https://evil.example' } }, '--issuer https://evil.example'],
  ])('is not used with %j', (change, reason) => {
    expect(problemOfCluster({ ...usable, ...change }, [issuer])).toContain(reason);
  });

  it('gets tokens of no identity provider that the site does not name', () => {
    expect(problemOfCluster(usable, [])).toContain('the site has no issuer');
  });
});
