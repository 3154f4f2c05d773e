import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair } from 'jose';
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

  it('never sends the site’s client secret to the issuer of one cluster', async () => {
    const { id, secret = '' } = site.keycloak.client('ondemand');
    const tenant = await recordingIssuer();
    try {
      await portal.writeHookEnv({ CLIENT_ID: id, CLIENT_SECRET: secret });
      await portal.writeBerth({ clusters: { prod: { credentials: { issuer: tenant.issuer } } } });
      const report = await runDoctor(portal);

      expect(findCheck(report, 'issuer').status).toBe('ok');
      const asked = tenant.requests.join('\n');
      expect(asked).toContain('/token');
      expect(asked).not.toContain(secret);
      expect(asked).not.toMatch(/authorization: basic/i);
      const warned = JSON.stringify(report.checks);
      expect(warned).toContain('CLIENT_SECRET of hook.env is not sent');
      expect(warned).not.toContain(secret);
    } finally {
      tenant.close();
    }
  });
});

/** An issuer that keeps all it is sent; the provider of the tests reads a secret, and does not show it. */
async function recordingIssuer() {
  const requests: string[] = [];
  const { cert, key } = site.record.serverCertificate;
  const server = createServer({ cert: await readFile(cert), key: await readFile(key) });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { publicKey } = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' };
  const documents: Readonly<Record<string, object>> = {
    '/.well-known/openid-configuration': {
      issuer,
      jwks_uri: `${issuer}/jwks`,
      token_endpoint: `${issuer}/token`,
      authorization_endpoint: `${issuer}/auth`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    },
    '/jwks': { keys: [jwk] },
  };
  server.on('request', (request, response) => {
    void text(request).then((body) => {
      const { url = '', headers } = request;
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
      requests.push([url, ...lines, body].join('\n'));
      const found = documents[url];
      response.writeHead(found === undefined ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(found ?? { error: 'invalid_grant' }));
    });
  });
  return { issuer, requests, close: () => server.close() };
}
