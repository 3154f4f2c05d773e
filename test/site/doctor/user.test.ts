import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { credentialCachePath } from '../../../src/credentials/credential-cache.ts';
import { ensureAccount, homeOf } from '../../rig/site/accounts.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { makeAsOsc } from '../../rig/site/osc-hooks.ts';
import { Portal, pullSecretName } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { findCheck, problems, runDoctor } from '../../rig/site/doctor-report.ts';

let site: Site;
let portal: Portal;

beforeAll(async () => {
  site = await openSite();
  await ensureAccount('alice');
  portal = await Portal.make(site);
});
afterAll(() => portal.remove());

describe('berth doctor --user', () => {
  it('fails for a user unknown to NSS', async () => {
    const report = await runDoctor(portal, '--user', 'nobody-of-that-name');
    expect(problems(report)).toEqual(['user failed']);
    expect(findCheck(report, 'user').next).toContain('getent passwd');
  });

  it('fails for a home that the user cannot write to', async () => {
    await execa('chown', ['root', homeOf('alice')]);
    const report = await runDoctor(portal, '--user', 'alice');
    await execa('chown', ['alice', homeOf('alice')]);
    expect(problems(report)).toContain('user-home failed');
    expect(findCheck(report, 'user-home').next).toContain('namei -l');
  });

  it('fails for a kubeconfig of the user that is not YAML', async () => {
    const directory = join(homeOf('alice'), '.kube');
    const file = join(directory, 'config');
    const before = await readFile(file).catch(() => undefined);
    await execa('install', ['-d', '-o', 'alice', '-m', '700', directory]);
    await writeFile(file, 'users: [\n');
    await execa('chown', ['alice', file]);
    const report = await runDoctor(portal, '--user', 'alice');
    if (before === undefined) await rm(file);
    else await writeFile(file, before);
    expect(problems(report)).toEqual(['user-kubeconfig failed']);
  });

  describe('the check of the token with the API server', () => {
    const cache = (): string => join(homeOf('alice'), credentialCachePath(site.server));
    beforeAll(async () => {
      await rm(cache(), { force: true });
    });
    afterAll(async () => {
      await portal.writeBerth();
      await rm(cache(), { force: true });
    });

    it('is skipped before a login', async () => {
      const { status, message } = findCheck(
        await runDoctor(portal, '--user', 'alice'),
        'user-token',
      );
      expect([status, message]).toEqual(['skipped', expect.stringContaining('no token yet')]);
    });

    it('succeeds if the API server reads the user of the RoleBindings, and renews nothing', async () => {
      const { exitCode, stderr } = await portal.prePun('alice', await portal.login('alice'));
      expect(exitCode, stderr).toBe(0);
      const before = await readFile(cache(), 'utf8');
      const report = await runDoctor(portal, '--user', 'alice');
      expect(problems(report)).toEqual([]);
      expect(findCheck(report, 'user-token').message).toContain('as oidc:alice');
      expect(await readFile(cache(), 'utf8')).toBe(before);
    });

    it('fails if the configured prefix is missing', async () => {
      await portal.writeBerth({ defaults: { subject_prefix: '' } });
      const report = await runDoctor(portal, '--user', 'alice');
      expect(problems(report)).toContain('user-token failed');
      const { message, next } = findCheck(report, 'user-token');
      expect(message).toContain('as oidc:alice, but the RoleBindings are for alice');
      expect(next).toContain('subject_prefix: "oidc:"');
      await portal.writeBerth();
    });

    it('fails if the API server does not accept the token', async () => {
      const text = await readFile(cache(), 'utf8');
      const { token } = JSON.parse(text) as { token: string };
      await writeFile(cache(), text.replace(token, `${token.slice(0, -8)}AAAAAAAA`));
      const report = await runDoctor(portal, '--user', 'alice');
      expect(problems(report)).toEqual(['user-token failed']);
      const { message, next } = findCheck(report, 'user-token');
      expect(message).toContain('does not accept the token of alice');
      expect(message).not.toContain(token.slice(0, 40));
      expect(next).toContain('--oidc-client-id');
    });

    it('uses the address and the CA that the user gets, not those of root', async () => {
      const elsewhere = { endpoint: 'https://127.0.0.1:1', cert_authority_file: site.ca.file };
      const admin = { kubeconfig: portal.files.kubeconfig, context: 'c' };
      await portal.writeBerth({ clusters: { prod: { admin } } });
      await portal.writeCluster('prod', { server: elsewhere });
      const cached = join(homeOf('alice'), credentialCachePath(elsewhere.endpoint));
      await copyFile(cache(), cached);
      await execa('chown', ['alice', cached]);
      const report = await runDoctor(portal, '--user', 'alice');
      await rm(cached);
      await portal.writeCluster('prod');
      await portal.writeBerth();
      expect(findCheck(report, 'api').status).toBe('ok');
      expect(findCheck(report, 'user-token')).toMatchObject({
        status: 'failed',
        message: expect.stringContaining('127.0.0.1:1') as string,
      });
    });

    it('is skipped for a foreign token that the user put there', async () => {
      const text = await readFile(cache(), 'utf8');
      const { token } = JSON.parse(text) as { token: string };
      const { stdout } = await site.kubectl('create token default -n default'.split(' '));
      await writeFile(cache(), text.replace(token, stdout.trim()));
      const report = await runDoctor(portal, '--user', 'alice');
      expect(problems(report)).toEqual([]);
      expect(findCheck(report, 'user-token').message).toContain('is not from');
      await writeFile(cache(), text);
    });

    it('is skipped for an expired token', async () => {
      const text = await readFile(cache(), 'utf8');
      await writeFile(cache(), text.replace(/"expiry":\d+/, '"expiry":1000'));
      const { status, message } = findCheck(
        await runDoctor(portal, '--user', 'alice'),
        'user-token',
      );
      expect([status, message]).toEqual(['skipped', expect.stringContaining('has expired')]);
    });
  });

  it('fails for an object that the API server refuses, and says which settings it comes from', async () => {
    await site.kubectl(`-n u-alice delete secret ${pullSecretName} --ignore-not-found`.split(' '));
    await site.kubectl(`-n u-alice create secret generic ${pullSecretName}`.split(' '));
    const report = await runDoctor(portal, '--user', 'alice');
    await site.kubectl(`-n u-alice delete secret ${pullSecretName}`.split(' '));
    expect(problems(report)).toEqual(['objects failed']);
    const { message, next } = findCheck(report, 'objects');
    expect(message).toContain(`Secret u-alice/${pullSecretName}: the API server answered 422`);
    expect(next).toContain(`delete secret ${pullSecretName}`);
  });

  it('warns with file and line of a network that is not written as Kubernetes 1.36 wants it', async () => {
    await portal.writeHookEnv({ NETWORK_POLICY_ALLOW_CIDR: '192.168.0.1/24' });
    const report = await runDoctor(portal, '--user', 'alice');
    await portal.writeHookEnv();
    expect(problems(report)).toEqual(['config-warning warning']);
    const { message, next } = findCheck(report, 'config-warning');
    expect(message).toContain('192.168.0.0/24 is used');
    expect(next).toContain(`${portal.files.hookEnv}:3`);
    expect(findCheck(report, 'objects').status).toBe('ok');
  });

  it('tries the objects also where Berth would take a namespace of OSC’s hook over', async () => {
    const prefix = { NAMESPACE_PREFIX: 'osc-' };
    await portal.writeCluster('prod', { namespace_prefix: 'osc-' });
    await portal.writeHookEnv(prefix);
    const cluster = new LiveCluster(site);
    await makeAsOsc(cluster, 'alice', 'osc-');
    const report = await runDoctor(portal, '--user', 'alice');
    await cluster.deleteNamespaces(['osc-alice']);
    await portal.writeCluster('prod');
    await portal.writeHookEnv();
    expect(findCheck(report, 'user-namespace').message).toContain('Berth takes it over');
    expect(findCheck(report, 'objects').status).toBe('ok');
  });

  it('fails for a namespace of another user', async () => {
    await portal.writeCluster('prod', { namespace_prefix: 'doctor-' });
    await portal.writeHookEnv({ NAMESPACE_PREFIX: 'doctor-' });
    await site.kubectl('create namespace doctor-alice'.split(' '));
    await site.kubectl('annotate namespace doctor-alice openondemand.org/owner=bob'.split(' '));
    const report = await runDoctor(portal, '--user', 'alice');
    await site.kubectl('delete namespace doctor-alice --wait=false'.split(' '));
    expect(problems(report)).toEqual(['user-namespace failed']);
    expect(findCheck(report, 'user-namespace').message).toContain('belongs to bob');
  });
});
