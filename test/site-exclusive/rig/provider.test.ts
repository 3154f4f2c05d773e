import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  expiredClaims,
  notYetValidClaims,
  SiteOidcProvider,
} from '../../rig/site/site-oidc-provider.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let provider: SiteOidcProvider;
beforeAll(async () => {
  site = await openSite();
  provider = await SiteOidcProvider.start(site);
});
afterEach(() => {
  provider.faults.claims = {};
  provider.faults.status = undefined;
});
afterAll(() => provider.stopListening());

/** kubectl's error text for this token, tried until the API server has found the provider. */
async function answerTo(token: string, wanted: string): Promise<string> {
  for (let tries = 0; ; tries++) {
    const { stderr } = await site.kubectl(['get', 'pods'], { token });
    if (stderr.includes(wanted) || tries === 60) return stderr;
    await sleep(500);
  }
}

describe('the cluster and the provider in the test process', () => {
  beforeEach(({ skip }) => {
    const reason = site.skipReason('oidc-authentication');
    skip(reason !== undefined, reason);
  });

  it.each([
    ['for somebody else', () => ({ aud: 'somebody-else' })],
    ['that has expired', expiredClaims],
    ['that is not valid yet', notYetValidClaims],
  ])('know a user of a provider that came up late, and refuse a token %s', async (_, claims) => {
    const good = await provider.login('dora');
    provider.faults.claims = claims();
    const bad = await provider.login('dora');

    expect(await answerTo(good.idToken ?? '', 'oidc:dora')).toContain('"oidc:dora" cannot list');
    const { stderr } = await site.kubectl(['get', 'pods'], { token: bad.idToken ?? '' });
    expect(stderr).toContain('You must be logged in to the server');
  });
});

describe('the provider', () => {
  it('revokes the login when a refresh token is used twice', async () => {
    const first = await provider.login('dora', 'confidential');
    const second = await provider.refresh(first.refreshToken ?? '', 'confidential');

    await expect(provider.refresh(first.refreshToken ?? '', 'confidential')).rejects.toThrow(
      'invalid_grant',
    );
    await expect(provider.refresh(second.refreshToken ?? '', 'confidential')).rejects.toThrow(
      'invalid_grant',
    );
  });

  it('keeps logins over new keys, an error and a time of being down', async () => {
    const { refreshToken = '' } = await provider.login('dora');
    await provider.rotateKeys();
    provider.faults.status = 500;
    await expect(provider.refresh(refreshToken)).rejects.toThrow('500');
    provider.faults.status = undefined;
    await provider.stopListening();
    await expect(provider.refresh(refreshToken)).rejects.toThrow('ECONNREFUSED');
    await provider.listenAgain();

    expect(await provider.refresh(refreshToken)).toHaveProperty('idToken');
  });
});
