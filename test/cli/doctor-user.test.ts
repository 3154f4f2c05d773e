import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureAccount, homeOf } from '../site/accounts.ts';
import { Portal } from '../site/portal.ts';
import { openSite, type Site } from '../site/site.ts';
import { check, complaints, doctor } from './doctor-says.ts';

let site: Site;
let portal: Portal;

beforeAll(async () => {
  site = await openSite();
  await ensureAccount('alice');
  portal = await Portal.make(site);
});
afterAll(() => portal.remove());

describe('berth doctor --user', () => {
  it('a user whom NSS does not know', async () => {
    const report = await doctor(portal, '--user', 'nobody-of-that-name');
    expect(complaints(report)).toEqual(['user failed']);
    expect(check(report, 'user').next).toContain('getent passwd');
  });

  it("a user's home that the user cannot write into", async () => {
    await execa('chown', ['root', homeOf('alice')]);
    const report = await doctor(portal, '--user', 'alice');
    await execa('chown', ['alice', homeOf('alice')]);
    expect(complaints(report)).toContain('user-home failed');
    expect(check(report, 'user-home').next).toContain('namei -l');
  });

  it('a kubeconfig of a user that is no YAML', async () => {
    const folder = join(homeOf('alice'), '.kube');
    const file = join(folder, 'config');
    const before = await readFile(file).catch(() => undefined);
    await execa('install', ['-d', '-o', 'alice', '-m', '700', folder]);
    await writeFile(file, 'users: [\n');
    await execa('chown', ['alice', file]);
    const report = await doctor(portal, '--user', 'alice');
    if (before === undefined) await rm(file);
    else await writeFile(file, before);
    expect(complaints(report)).toEqual(['user-kubeconfig failed']);
  });

  it("a namespace: it is somebody else's", async () => {
    await portal.writeCluster('prod', { namespace_prefix: 'doctor-' });
    await portal.writeHookEnv({ NAMESPACE_PREFIX: 'doctor-' });
    await site.kubectl('create namespace doctor-alice'.split(' '));
    await site.kubectl('annotate namespace doctor-alice openondemand.org/owner=bob'.split(' '));
    const report = await doctor(portal, '--user', 'alice');
    await site.kubectl('delete namespace doctor-alice --wait=false'.split(' '));
    expect(complaints(report)).toEqual(['user-namespace failed']);
    expect(check(report, 'user-namespace').message).toContain('belongs to bob');
  });
});
