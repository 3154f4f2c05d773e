import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configOverlay } from '../../../../src/config/load/config-overlay.ts';
import { loadSiteSettings } from '../../../../src/config/load/load-site-settings.ts';
import { loadSshSettings } from '../../../../src/config/load/load-ssh-settings.ts';

let directory: string;
const inTrial = (name: string): string => join(directory, name);
function put(name: string, text: string): void {
  mkdirSync(join(inTrial(name), '..'), { recursive: true, mode: 0o755 });
  writeFileSync(inTrial(name), text, { mode: 0o644 });
}

beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'config-overlay-'))));
afterEach(() => rmSync(directory, { recursive: true }));

describe('a configuration to try', () => {
  it('is read in place of what has the same name in /etc/berth and in OnDemand', () => {
    put('ssh.yml', '');
    put('clusters.d/prod.yml', '');
    const { resolve, present } = configOverlay(directory);
    expect(present).toEqual(['ssh.yml', 'clusters.d']);
    expect(resolve('/etc/berth/ssh.yml')).toBe(inTrial('ssh.yml'));
    expect(resolve('/etc/ood/config/clusters.d')).toBe(inTrial('clusters.d'));
    expect(resolve('/etc/berth/berth.yml')).toBe('/etc/berth/berth.yml');
    expect(resolve('/etc/berth-other/ssh.yml')).toBe('/etc/berth-other/ssh.yml');
    expect(resolve('/etc/berth/x/../../shadow')).toBe('/etc/berth/x/../../shadow');
    expect(resolve('relative/ssh.yml')).toBe('relative/ssh.yml');
  });

  it('has the profiles beside its ssh.yml, also where that names the installed ones', async () => {
    put('ssh.yml', 'profiles_dir: /etc/berth/profiles\nrules: [{profile: trial}]\n');
    put('profiles/trial.yml', 'image: hpc/trial:1\n');
    put('profiles/broken.yml', 'imag: hpc/trial:1\n');
    const { profiles, broken } = await loadSshSettings({
      overlay: configOverlay(directory).resolve,
    });
    expect([...profiles.keys()]).toEqual(['trial']);
    expect(broken.get('broken')?.error.message).toContain(
      `${inTrial('profiles/broken.yml')}:1:1: imag is unknown`,
    );
  });

  it('has the clusters, hook.env and secrets of the directory, and leaves paths for users as they are', async () => {
    put(
      'berth.yml',
      [
        ...['defaults:', '  credentials:', '    client_secret_file: /etc/berth/secret'],
        ...['    ca_file: /etc/berth/ca.pem', ''],
      ].join('\n'),
    );
    put('ca.pem', 'not read');
    put('secret', 's3cret\n');
    put('hook.env', 'CLIENT_ID=portal\nIDP_ISSUER_URL=https://idp/realms/main\n');
    put(
      'clusters.d/trial.yml',
      'v2: {job: {adapter: kubernetes, server: {endpoint: "https://k"}, auth: {type: oidc}}}\n',
    );
    const { settings, broken } = await loadSiteSettings({
      overlay: configOverlay(directory).resolve,
    });
    expect(broken).toEqual([]);
    const [cluster] = settings.clusters;
    expect(cluster?.name).toBe('trial');
    expect(cluster?.credentials).toMatchObject({ caFile: '/etc/berth/ca.pem' });
    expect(JSON.stringify(cluster?.credentials)).toContain('s3cret');
    expect(settings.warnings.map(({ file }) => file)).toContain(inTrial('secret'));
  });

  it.each([
    ['no directory', 'gone', 'is not a directory'],
    ['a directory without a configuration', '.', 'has no configuration'],
  ])('is refused where there is %s', (_what, name, message) => {
    put('README.md', '');
    expect(() => configOverlay(inTrial(name))).toThrow(message);
  });
});
