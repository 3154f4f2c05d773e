import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type UpdatedSshSettings,
  updateSshSettingsCache,
  loadSshSettings,
  sshCacheFile,
} from '../../../../src/config/load/load-ssh-settings.ts';

const nobody = 65_534;
let directory: string;
const at = (name: string): string => join(directory, name);
const put = (name: string, text: string): void => {
  writeFileSync(at(name), text);
  chmodSync(at(name), 0o644);
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'load-ssh-settings-'));
  chmodSync(directory, 0o755);
  mkdirSync(at('profiles'), { mode: 0o755 });
  put('ssh.yml', `profiles_dir: ${at('profiles')}\nrules: [{profile: login}, {profile: gone}]\n`);
  put('profiles/login.yml', 'image: hpc/login:9\nenvironment: {set: {A: $HOME}}\n');
  put('profiles/gpu.yml', 'imag: hpc/gpu:9\ngroups: [gpu]\n');
});
afterEach(() => rmSync(directory, { recursive: true }));

const files = (build: string | undefined = 'b1') => ({
  configFile: at('ssh.yml'),
  cacheFile: at('cache/ssh.json'),
  build,
});
/** Long after every change. */
const later = (): number => Date.now() + 60_000;
const compile = async (build?: string): Promise<UpdatedSshSettings['state']> =>
  (await updateSshSettingsCache(files(build), later())).state;
const cacheText = (): string => readFileSync(at('cache/ssh.json'), 'utf8');

/** What tells that the compiled file was read: it says another image than the YAML. */
function markCache(): void {
  writeFileSync(at('cache/ssh.json'), cacheText().replace('hpc/login:9', 'from/cache:1'));
}
const image = async (build?: string): Promise<string | undefined> =>
  (await loadSshSettings(files(build))).profiles.get('login')?.image;

// Whatever counts must be root's.
describe.skipIf(process.geteuid?.() !== 0)('the SSH settings', () => {
  it('give file, line and column of a mistake', async () => {
    const { broken } = await loadSshSettings(files());
    const where = `${at('profiles/gpu.yml')}:1:1: `;
    expect(broken.get('gpu')?.error.message).toContain(`${where}imag is unknown`);
    expect(broken.get('gone')?.error.message).toBe(
      `${at('ssh.yml')}:2:37: rules.2.profile: there is no profile gone`,
    );
    for (const [text, place] of [
      ['rules:\n  - profile: login\n    ports: [99999]\n', '3:13: rules.1.ports.1 must be a port'],
      ['rules: []\notherwise: host-shell\n', '2:12: otherwise: host-shell needs'],
      ['storage: /var/lib/berth-ssh\nstorag: /x\n', '2:1: storag is unknown'],
      ['rules: []\n---\nstorage: /x\n', '2:1: invalid YAML: a second YAML document'],
    ] as const) {
      put('ssh.yml', text);
      await expect(loadSshSettings(files())).rejects.toThrow(`${at('ssh.yml')}:${place}`);
    }
  });

  it('are the rules and the profiles of the directory, without the broken ones', async () => {
    put('profiles/broken.yml', 'image: [\n');
    put('profiles/Bad Name.yml', 'image: a\n');
    put('profiles/other.yaml', 'image: a\n');
    put('profiles/login.yml.rpmsave', 'not read');
    put('profiles/.login.yml.swp', 'not read');
    put('profiles/open.yml', 'image: a\n');
    chmodSync(at('profiles/open.yml'), 0o666);
    put('profiles/secret.yml', 'image: a\n');
    chmodSync(at('profiles/secret.yml'), 0o600);
    put('profiles/eves.yml', 'image: a\n');
    chownSync(at('profiles/eves.yml'), nobody, nobody);
    mkdirSync(at('profiles/directory.yml'));
    symlinkSync('/nowhere', at('profiles/dangling.yml'));
    const settings = await loadSshSettings(files());
    expect([...settings.profiles.keys()]).toEqual(['login']);
    expect(
      Object.fromEntries([...settings.broken].map(([name, { error }]) => [name, error.code])),
    ).toEqual({
      'Bad Name': 'profile-name-invalid',
      broken: 'config-yaml-invalid',
      dangling: 'config-missing',
      eves: 'config-not-owned-by-root',
      directory: 'config-not-a-file',
      gone: 'profile-missing',
      gpu: 'profile-invalid',
      open: 'config-writable-by-others',
      other: 'profile-name-invalid',
      secret: 'config-not-world-readable',
    });
    expect(settings.broken.get('gpu')?.groups).toEqual(['gpu']);
  });

  it.each([
    ['ssh.yml', (): void => rmSync(at('ssh.yml')), 'config-missing'],
    ['ssh.yml', (): void => chmodSync(at('ssh.yml'), 0o664), 'config-writable-by-others'],
    ['ssh.yml', (): void => chmodSync(at('ssh.yml'), 0o640), 'config-not-world-readable'],
    ['ssh.yml', (): void => chownSync(at('ssh.yml'), nobody, 0), 'config-not-owned-by-root'],
    ['ssh.yml', (): void => put('ssh.yml', 'rules: [\n'), 'config-yaml-invalid'],
    ['ssh.yml', (): void => put('ssh.yml', 'rule: []\n'), 'ssh-yml-invalid'],
    ['the directory', (): void => chmodSync(at('profiles'), 0o777), 'config-writable-by-others'],
    ['the directory', (): void => chownSync(at('profiles'), nobody, 0), 'config-not-owned-by-root'],
    ['the directory', (): void => rmSync(at('profiles'), { recursive: true }), 'config-missing'],
  ])('are refused if %s is at fault: %#', async (_what, damage, code) => {
    await compile();
    damage();
    await expect(loadSshSettings(files())).rejects.toMatchObject({ code, exit: 'config' });
    await expect(updateSshSettingsCache(files(), later())).rejects.toMatchObject({ code });
  });
});

describe.skipIf(process.geteuid?.() !== 0)('the cache of the SSH settings', () => {
  it('gives the same settings as the YAML, with the same errors', async () => {
    const read = await loadSshSettings(files());
    expect(await compile()).toBe('written');
    const compiled = await loadSshSettings(files());
    expect(compiled).toEqual(read);
    expect(compiled.broken.get('gpu')?.error).toEqual(read.broken.get('gpu')?.error);
    expect(compiled.broken.get('gpu')?.error.exitCode).toBe(78);
    expect(Object.isFrozen(compiled.profiles.get('login')?.environment.set)).toBe(true);
    expect(Object.isFrozen(compiled.rules[0])).toBe(true);
  });

  it('has mode 0644, whatever PAM’s umask is', async () => {
    const before = process.umask(0o077);
    try {
      await compile();
    } finally {
      process.umask(before);
    }
    expect(statSync(at('cache')).mode & 0o777).toBe(0o755);
    expect(statSync(at('cache/ssh.json')).mode & 0o777).toBe(0o644);
  });

  it('is read instead of the YAML, and written again only if it is not current', async () => {
    await compile();
    markCache();
    expect(await image()).toBe('from/cache:1');
    expect(await compile()).toBe('current');
    expect(cacheText()).toContain('from/cache:1');
  });

  it.each([
    ['ssh.yml changed', (): void => put('ssh.yml', readFileSync(at('ssh.yml'), 'utf8') + '#\n')],
    ['a profile changed', (): void => put('profiles/login.yml', 'image: hpc/login:9\n')],
    ['a broken profile was mended', (): void => put('profiles/gpu.yml', 'image: gpu\n')],
    ['a profile came', (): void => put('profiles/new.yml', 'image: new\n')],
    ['a profile went', (): void => rmSync(at('profiles/gpu.yml'))],
    ['a profile was renamed', (): void => renameSync(at('profiles/gpu.yml'), at('profiles/g.yml'))],
    ['a mode changed', (): void => chmodSync(at('profiles/gpu.yml'), 0o600)],
  ])('does not count when %s', async (_what, change) => {
    await compile();
    markCache();
    change();
    expect(await image()).toBe('hpc/login:9');
    expect(await compile()).toBe('written');
    expect(cacheText()).not.toContain('from/cache:1');
  });

  it('is not used after a refused file has been corrected', async () => {
    chmodSync(at('profiles/gpu.yml'), 0o666);
    await compile();
    chmodSync(at('profiles/gpu.yml'), 0o644);
    const { broken } = await loadSshSettings(files());
    expect(broken.get('gpu')?.error.code).toBe('profile-invalid');
  });

  it.each([
    ['it is somebody else’s', (): void => chownSync(at('cache/ssh.json'), nobody, nobody)],
    ['others can write it', (): void => chmodSync(at('cache/ssh.json'), 0o666)],
    ['a power cut emptied it', (): void => truncateSync(at('cache/ssh.json'), 0)],
    ['it is cut short', (): void => truncateSync(at('cache/ssh.json'), 100)],
    ['it is something else', (): void => writeFileSync(at('cache/ssh.json'), '{}')],
    ['it is nothing', (): void => writeFileSync(at('cache/ssh.json'), 'null')],
  ])('does not count when %s, and is made anew', async (_what, damage) => {
    await compile();
    markCache();
    damage();
    expect(await image()).toBe('hpc/login:9');
    expect(await compile()).toBe('written');
    expect(statSync(at('cache/ssh.json'))).toMatchObject({ uid: 0 });
    expect(statSync(at('cache/ssh.json')).mode & 0o777).toBe(0o644);
  });

  it('is not used for another build, nor for another ssh.yml', async () => {
    await compile();
    markCache();
    expect(await image('b2')).toBe('hpc/login:9');
    writeFileSync(at('other.yml'), readFileSync(at('ssh.yml')), { mode: 0o644 });
    const other = await loadSshSettings({ ...files(), configFile: at('other.yml') });
    expect(other.profiles.get('login')?.image).toBe('hpc/login:9');
  });

  it('is not written while a file may change without a new timestamp', async () => {
    const soon = await updateSshSettingsCache(files(), Date.now());
    expect(soon.state).toBe('unsettled');
    expect(soon.settings.profiles.get('login')?.image).toBe('hpc/login:9');
    expect(existsSync(at('cache'))).toBe(false);
  });

  it('is not written without a build', async () => {
    const { state } = await updateSshSettingsCache(
      { configFile: at('ssh.yml'), cacheFile: at('cache/ssh.json') },
      later(),
    );
    expect(state).toBe('off');
    expect(existsSync(at('cache'))).toBe(false);
  });

  it('is a different file for each ssh.yml', () => {
    expect(sshCacheFile('/etc/berth/ssh.yml')).toBe('/var/cache/berth/ssh.json');
    expect(sshCacheFile('/etc/berth/b.yml')).toBe(
      '/var/cache/berth/ssh%2Fetc%2Fberth%2Fb.yml.json',
    );
  });

  it('is read by a user’s own process, which loads neither YAML nor schemas for it', async () => {
    await compile();
    markCache();
    const module = new URL('../../../../src/config/load/load-ssh-settings.ts', import.meta.url)
      .pathname;
    const script = at('as-user.mjs');
    put(
      'as-user.mjs',
      `import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
      const { loadSshSettings } = await import(${JSON.stringify(module)});
      process.setgroups([]); process.setgid(${nobody}); process.setuid(${nobody});
      const { profiles } = await loadSshSettings(${JSON.stringify(files())});
      const heavy = loaded.filter((url) => /node_modules|read-ssh-files|atomic-file/.test(url));
      console.log(JSON.stringify([process.getuid(), profiles.get('login').image, heavy]));`,
    );
    const out = execFileSync(process.execPath, ['--experimental-strip-types', script], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    expect(JSON.parse(out)).toEqual([nobody, 'from/cache:1', []]);
  });
});
