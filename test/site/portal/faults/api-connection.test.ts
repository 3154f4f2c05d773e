import { execa } from 'execa';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { apiClient } from '../../../../src/kube/api-client.ts';
import { ensureAccount } from '../../../rig/site/accounts.ts';
import { CertificateAuthority, type KeyPair } from '../../../rig/site/certificates.ts';
import { send } from '../../../rig/site/https.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { freshPortal, isAsWanted, removePortals, timed } from './fresh-portal.ts';
import { pass } from './response-faults.ts';
import { refuse, StandIn } from './api-server-proxy.ts';

const user = 'faults-tls';
let site: Site;
let directory: string;

beforeAll(async () => {
  site = await openSite();
  await ensureAccount(user);
  directory = await mkdtemp(join(tmpdir(), 'berth-faults-'));
});
afterAll(() => rm(directory, { recursive: true }));
afterEach(() => removePortals(site));

describe('a server without a valid certificate does not get the hook’s token', () => {
  it.each([
    {
      what: 'a certificate of another authority',
      options: async () => {
        const other = await CertificateAuthority.create(join(directory, 'other'));
        return { certificate: await other.server('stand-in') };
      },
      says: /unable to verify|self.signed/,
      next: 'certificate-authority',
    },
    {
      what: 'a certificate for another host',
      options: () => Promise.resolve({ host: '127.0.0.2' }),
      says: /127\.0\.0\.2/,
      next: 'tls-server-name',
    },
    {
      what: 'an expired certificate',
      options: async () => ({ certificate: await expired() }),
      says: /expired/,
      next: 'Renew',
    },
  ])('$what', async ({ options, says, next }) => {
    const standIn = await StandIn.open(site, pass, await options());
    try {
      const portal = await freshPortal(site, { url: standIn.url });
      const { exitCode, errors } = await timed(portal.prePun(user));

      expect(exitCode).toBe(78);
      expect(errors).toEqual([
        expect.objectContaining({ code: 'api-certificate', cluster: 'prod' }),
      ]);
      expect(errors[0]?.msg).toMatch(says);
      expect(errors[0]?.hint).toContain(next);
      expect(standIn.requests).toEqual([]);
    } finally {
      await standIn.close();
    }
  });

  it('a closed port is reported at once', async () => {
    const portal = await freshPortal(site, { url: 'https://127.0.0.1:9' });
    const { exitCode, errors } = await timed(portal.prePun(user));

    expect(exitCode).toBe(75);
    expect(errors).toEqual([expect.objectContaining({ code: 'api-unreachable' })]);
    expect(errors[0]?.msg).toContain('ECONNREFUSED');
  });
});

describe('a closed client', () => {
  it('does not open a new connection for a pending request, because nothing would close it', async () => {
    const standIn = await StandIn.open(site, (seen) =>
      seen.number === 1 ? undefined : refuse(403)(seen),
    );
    try {
      const server = { url: standIn.url, ca: site.ca.pem };
      const client = apiClient(server, AbortSignal.timeout(10_000));
      const asked = { method: 'GET', path: '/api/v1/pods' } as const;
      const never = client.send(asked);
      expect((await client.send(asked)).status).toBe(403);

      client.close();

      await expect(never).rejects.toMatchObject({ code: 'api-connection-lost' });
      expect(standIn.requests).toHaveLength(2);
    } finally {
      await standIn.close();
    }
  });
});

describe('a proxy in front of the API server that supports HTTP/1.1 only', () => {
  it('works: first and later hooks succeed', async () => {
    const { server, url } = await http1Proxy('whole');
    try {
      const portal = await freshPortal(site, { url, deadline: '10s' });
      const first = await portal.prePun(user);
      const later = await portal.prePun(user);

      expect(first.stderr).toContain('namespace created');
      expect(later.stderr).toContain('namespace kept');
      expect([first.exitCode, later.exitCode]).toEqual([0, 0]);
      expect(await isAsWanted(portal, user)).toBe(true);
    } finally {
      server.close();
    }
  });

  it.each([
    { what: 'half a body', fault: 'cut', deadline: '10s', code: 'api-connection-lost', exit: 75 },
    {
      what: 'a body without end',
      fault: 'endless',
      deadline: '10s',
      code: 'api-answer-too-large',
      exit: 69,
    },
    { what: 'no answer', fault: 'never', deadline: '1500ms', code: 'api-deadline', exit: 75 },
  ] as const)('$what: exit $exit, $code', async ({ fault, deadline, code, exit }) => {
    const { server, url } = await http1Proxy(fault);
    try {
      const portal = await freshPortal(site, { url, deadline });
      const { exitCode, errors } = await timed(portal.prePun(user));

      expect(exitCode).toBe(exit);
      expect(errors).toEqual([expect.objectContaining({ code, cluster: 'prod' })]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

describe('a quota that is used up', () => {
  it('is named, and once it is raised the next hook creates the rest', async () => {
    const portal = await freshPortal(site);
    const namespace = portal.namespaceOf(user);
    await portal.prePun(user);
    const quota = ['--namespace', namespace, 'quota', 'none'];
    await site.kubectl(['-n', namespace, 'delete', 'secret', '--all']);
    await site.kubectl(['create', ...quota, '--hard=count/secrets=0']);
    // Until the quota controller has counted, the API server says "status unknown for quota".
    const used = ['get', ...quota, '--output', 'jsonpath={.status.used}'];
    await expect.poll(async () => (await site.kubectl(used)).stdout).toContain('count/secrets');

    const full = await timed(portal.prePun(user));
    await site.kubectl(['delete', ...quota]);
    const next = await portal.prePun(user);

    expect(full.exitCode).toBe(78);
    expect(full.errors).toHaveLength(1);
    expect(full.errors[0]).toMatchObject({ code: 'api-quota-exceeded', cluster: 'prod' });
    expect(full.errors[0]?.msg).toContain('count/secrets');
    expect(full.errors[0]?.hint).toContain('kubectl describe quota');
    expect(next.exitCode).toBe(0);
    expect(await isAsWanted(portal, user)).toBe(true);
  });
});

/** A certificate of the site's CA that expired yesterday. */
async function expired(): Promise<KeyPair> {
  const [cert, key, request] = ['pem', 'key', 'csr'].map((end) =>
    join(directory, `expired.${end}`),
  ) as [string, string, string];
  const authority = site.record.certificates;
  await execa('openssl', [
    ...['req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-keyout', key, '-out', request, '-subj', '/CN=expired'],
    ...['-addext', 'subjectAltName=IP:127.0.0.1'],
  ]);
  await execa('openssl', [
    ...['x509', '-req', '-in', request, '-out', cert, '-days', '-1', '-copy_extensions', 'copy'],
    ...['-CA', join(authority, 'ca.pem'), '-CAkey', join(authority, 'ca.key')],
    ...['-CAserial', join(directory, 'serial'), '-CAcreateserial'],
  ]);
  return { cert, key };
}

/** A real HTTP/1.1 proxy, which forwards requests to the API server or answers with an error. */
async function http1Proxy(
  fault: 'whole' | 'cut' | 'endless' | 'never',
): Promise<{ server: Server; url: string }> {
  const pair = await site.certificates.server('http1-proxy');
  const keys = { cert: await readFile(pair.cert), key: await readFile(pair.key) };
  const server = createServer(keys, (incoming, outgoing) => {
    if (fault === 'never') return;
    if (fault === 'cut' || fault === 'endless') {
      outgoing.writeHead(200, { 'content-type': 'application/json' });
      outgoing.write('{"kind":"Namespace",');
      if (fault === 'cut') setTimeout(() => incoming.socket.destroy(), 20);
      else
        while (!outgoing.destroyed && outgoing.writableLength < 20e6)
          outgoing.write(' '.repeat(1e6));
      return;
    }
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const { authorization = '', 'content-type': contentType } = incoming.headers;
      const answer = await send(site.server + (incoming.url ?? ''), {
        ca: site.ca.pem,
        method: incoming.method ?? 'GET',
        headers: { authorization, ...(contentType && { 'content-type': contentType }) },
        ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks).toString() }),
      });
      outgoing.writeHead(answer.status, { 'content-type': 'application/json' });
      outgoing.end(answer.text);
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
