import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { findCheck, problems, runDoctor } from '../../rig/site/doctor-report.ts';

let site: Site;
let portal: Portal;

beforeAll(async () => {
  site = await openSite();
  portal = await Portal.make(site);
});
afterEach(async () => {
  portal.wrapArgv = (argv) => argv;
  await portal.writeHookEnv();
  await portal.writeBerth();
});
afterAll(() => portal.remove());

describe('berth doctor and the issuer', () => {
  it('fails for an issuer with another spelling', async () => {
    await portal.writeHookEnv({ IDP_ISSUER_URL: `${site.keycloak.issuer}x` });
    const report = await runDoctor(portal);
    expect(problems(report)).toEqual(['issuer failed']);
    expect(findCheck(report, 'issuer-client').status).toBe('skipped');
    expect(findCheck(report, 'rights').status).toBe('ok');
  });

  it('fails for an issuer with an unknown CA', async () => {
    await portal.writeBerth({
      defaults: { credentials: { audience: 'kubernetes', exchange: false, token: 'id' } },
    });
    const report = await runDoctor(portal);
    expect(problems(report)).toEqual(['issuer failed']);
    expect(findCheck(report, 'issuer').message).toContain('certificate');

    // The environment's counts for nothing, which the hook would not have; the host's own does.
    const { stdout } = await portal.run(
      'berth',
      ['doctor', '-o', 'json', '--config', portal.files.berth],
      {},
      { NODE_EXTRA_CA_CERTS: site.ca.file, SSL_CERT_FILE: site.ca.file },
    );
    expect(stdout).toMatch(/"id":\s*"issuer",[^}]*"status":\s*"failed"/);
    const withStore = 'mount --bind "$0" /etc/ssl/certs/ca-certificates.crt; exec "$@"';
    const unshare = ['unshare', '--mount', 'bash', '-euc', withStore, site.ca.file];
    portal.wrapArgv = (argv) => [...unshare, ...argv];
    expect(problems(await runDoctor(portal))).toEqual([]);
  });

  it('fails for a wrong client secret', async () => {
    const { id } = site.keycloak.client('ondemand');
    await portal.writeHookEnv({ CLIENT_ID: id, CLIENT_SECRET: 'not-the-secret' });
    const report = await runDoctor(portal);
    expect(problems(report)).toContain('issuer-client failed');
    expect(findCheck(report, 'issuer-client').message).not.toContain('not-the-secret');
    expect(findCheck(report, 'issuer').status).toBe('ok');
  });
});
