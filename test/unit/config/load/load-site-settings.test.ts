import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigReader } from '../../../../src/config/load/config-reader.ts';
import {
  type LoadedSiteSettings,
  loadSiteSettings,
  type SiteCacheOptions,
} from '../../../../src/config/load/load-site-settings.ts';

let directory: string;
const at = (name: string): string => join(directory, name);
const put = (name: string, text: string): void => writeFileSync(at(name), text, { mode: 0o600 });
const cluster = (auth: string): string =>
  `v2: {job: {adapter: kubernetes, server: {endpoint: "https://k"}, auth: {type: ${auth}}}}\n`;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'load-settings-'));
  mkdirSync(at('clusters.d'), { mode: 0o755 });
  put('berth.yml', `state_dir: ${at('state')}\n`);
  put(
    'hook.env',
    'CLIENT_ID=portal\nCLIENT_SECRET=s3cret\nIDP_ISSUER_URL=https://idp/realms/main\n',
  );
  put('clusters.d/prod.yml', cluster('oidc'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const load = (options: SiteCacheOptions = { cache: 'off' }): Promise<LoadedSiteSettings> =>
  loadSiteSettings(
    { configFile: at('berth.yml'), hookEnvFile: at('hook.env'), clustersDir: at('clusters.d') },
    options,
  );
const names = ({ settings }: LoadedSiteSettings): string[] =>
  settings.clusters.map(({ name }) => name);

describe('the configuration of a site', () => {
  it('gives line and column of a mistake, of the site and of one cluster', async () => {
    put('berth.yml', `state_dir: ${at('state')}\ndeadline: 30\n`);
    await expect(load()).rejects.toThrow(
      `${at('berth.yml')}:2:11: deadline must be a time such as`,
    );
    put(
      'berth.yml',
      `state_dir: ${at('state')}\nclusters:\n  prod: {job_pod_reaper: 7}\n  prd: {}\n`,
    );
    const { broken } = await load();
    expect(broken.map(({ error }) => error.message)).toEqual([
      `${at('berth.yml')}:3:26: clusters.prod.job_pod_reaper must be true or false`,
      expect.stringContaining(`${at('berth.yml')}:4:3: clusters.prd is not a Kubernetes cluster`),
    ]);
  });

  it('is read from OnDemand’s files and berth.yml', async () => {
    const loaded = await load();
    expect(names(loaded)).toEqual(['prod']);
    expect(loaded.settings.stateDir).toBe(at('state'));
    expect(loaded).toMatchObject({ broken: [], settings: { warnings: [] } });
  });

  it('lacks only the cluster with an error', async () => {
    put('clusters.d/broken.yml', 'v2: {job: [\n');
    put('clusters.d/empty.yml', '');
    put('clusters.d/open.yaml', cluster('managed'));
    chmodSync(at('clusters.d/open.yaml'), 0o666);
    mkdirSync(at('clusters.d/dir.yml'));
    put('clusters.d/slurm.yml', 'v2: {job: {adapter: slurm}}\n');
    put('clusters.d/prod.yml.rpmsave', 'not read');
    put('clusters.d/latin1.yml', '');
    writeFileSync(at('clusters.d/latin1.yml'), Buffer.from('v2: é', 'latin1'));
    const loaded = await load();
    expect(names(loaded)).toEqual(['prod']);
    expect(loaded.broken.map((one) => [one.cluster, one.error.code])).toEqual([
      ['broken', 'config-yaml-invalid'],
      ['dir', 'config-not-a-file'],
      ['empty', 'config-empty'],
      ['latin1', 'config-not-utf8'],
      ['open', 'config-writable-by-others'],
    ]);
  });

  it.each(['', ' \n', '# by config management\n'])(
    'has a hook.env %j that sets nothing',
    async (text) => {
      put('hook.env', text);
      put('clusters.d/free.yml', cluster('managed'));
      const { settings, broken } = await load();
      expect(settings.clusters.map(({ name }) => name)).toEqual(['free']);
      expect(broken).toMatchObject([
        {
          cluster: 'prod',
          error: { code: 'credentials-incomplete' },
          // For `berth render`.
          withoutCredentials: { name: 'prod', credentials: { mode: 'none' } },
        },
      ]);
    },
  );

  it('has an error for a cluster with two files', async () => {
    put('clusters.d/prod.yaml', cluster('managed'));
    const loaded = await load();
    expect(names(loaded)).toEqual(['prod']);
    expect(loaded.broken).toMatchObject([
      { cluster: 'prod', error: { code: 'cluster-duplicate' } },
    ]);
  });

  it.each([
    ['hook.env', 'config-missing'],
    ['berth.yml', 'config-missing'],
    ['clusters.d', 'config-missing'],
  ])('is refused as a whole without %s', async (name, code) => {
    rmSync(at(name), { recursive: true });
    await expect(load()).rejects.toMatchObject({ code, exitCode: 78, fields: { file: at(name) } });
  });

  it('is refused if everybody can write hook.env', async () => {
    chmodSync(at('hook.env'), 0o666);
    await expect(load()).rejects.toMatchObject({ code: 'config-writable-by-others', exitCode: 78 });
  });

  it('may disable hook.env', async () => {
    put('berth.yml', 'hook_env: null\n');
    put('clusters.d/prod.yml', cluster('managed'));
    const loaded = await loadSiteSettings(
      { configFile: at('berth.yml'), clustersDir: at('clusters.d') },
      { cache: 'off' },
    );
    expect(names(loaded)).toEqual(['prod']);
  });

  it('warns of a world-readable secret', async () => {
    chmodSync(at('hook.env'), 0o644);
    expect((await load()).settings.warnings).toMatchObject([
      { code: 'config-secret-readable-by-all', file: at('hook.env') },
    ]);
  });

  it('reads a client secret from its own file', async () => {
    put('berth.yml', `defaults: {credentials: {client_secret_file: ${at('secret')}}}\n`);
    put('secret', 'other\n');
    expect((await load()).settings.clusters[0]?.credentials).toMatchObject({
      clientAuth: { method: 'client_secret_basic', secret: 'other' },
    });
    rmSync(at('secret'));
    expect((await load()).broken).toMatchObject([
      { cluster: 'prod', error: { code: 'config-missing' } },
    ]);
  });

  it('reads a client’s private key from a file that only its owner and group can read', async () => {
    const method = 'client_auth_method: private_key_jwt';
    put('berth.yml', `defaults: {credentials: {${method}, client_key_file: ${at('key')}}}\n`);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = String(privateKey.export({ type: 'pkcs8', format: 'pem' })).trimEnd();
    put('key', `${key}\n`);
    chmodSync(at('key'), 0o644);
    expect((await load()).broken).toMatchObject([
      { cluster: 'prod', error: { code: 'client-key-not-private' } },
    ]);
    chmodSync(at('key'), 0o620);
    expect((await load()).broken).toMatchObject([
      { cluster: 'prod', error: { code: 'config-writable-by-others' } },
    ]);
    chmodSync(at('key'), 0o640);
    const { settings, broken } = await load();
    expect(broken).toEqual([]);
    expect(settings.clusters[0]?.credentials).toMatchObject({
      clientAuth: { method: 'private_key_jwt', key },
    });
  });
});

describe('the cache of the site’s settings', () => {
  /** Files that changed a moment ago are not trusted to stay as they are: the clock is ahead of theirs. */
  const cached: SiteCacheOptions = { build: 'one', now: () => Date.now() + 2100 };
  const cacheFile = (): string => at('state/settings.json');

  it('has mode 0600, gives the same settings, and is not used after any change', async () => {
    put('clusters.d/broken.yml', 'v2: {job: [\n');
    const first = await load(cached);
    expect(statSync(cacheFile()).mode & 0o777).toBe(0o600);
    expect(statSync(at('state')).mode & 0o777).toBe(0o700);
    const inode = statSync(cacheFile()).ino;
    const second = await load(cached);
    expect(second).toEqual(first);
    expect(second.broken[0]?.error).toMatchObject({ code: 'config-yaml-invalid', exitCode: 78 });
    expect(Object.isFrozen(second.settings.clusters[0]?.credentials)).toBe(true);
    expect(statSync(cacheFile()).ino, 'nothing was written again').toBe(inode);

    // Same size, and the old modification time put back.
    const { atime, mtime } = statSync(at('hook.env'));
    put('hook.env', readFileSync(at('hook.env'), 'utf8').replace('portal', 'berth2'));
    utimesSync(at('hook.env'), atime, mtime);
    expect((await load(cached)).settings.clusters[0]?.credentials).toMatchObject({
      clientId: 'berth2',
    });

    put('clusters.d/test.yml', cluster('managed'));
    expect(names(await load(cached))).toEqual(['prod', 'test']);
    rmSync(at('clusters.d/test.yml'));
    expect(names(await load(cached))).toEqual(['prod']);
    chmodSync(at('hook.env'), 0o666);
    await expect(load(cached)).rejects.toMatchObject({ code: 'config-writable-by-others' });
  });

  it('is not used if another build wrote it, or others could have written it', async () => {
    await load(cached);
    const planted = readFileSync(cacheFile(), 'utf8').replaceAll('"portal"', '"attacker"');
    const client = async (options: SiteCacheOptions): Promise<unknown> =>
      (await load(options)).settings.clusters[0]?.credentials;

    writeFileSync(cacheFile(), planted);
    expect(await client(cached), 'the cache is what is read').toMatchObject({
      clientId: 'attacker',
    });
    expect(await client({ ...cached, build: 'two', cache: 'read' })).toMatchObject({
      clientId: 'portal',
    });

    chmodSync(cacheFile(), 0o644);
    const loaded = await load(cached);
    expect(loaded.settings.clusters[0]?.credentials).toMatchObject({ clientId: 'portal' });
    expect(loaded.settings.warnings).toMatchObject([{ code: 'settings-cache-ignored' }]);
    expect(statSync(cacheFile()).mode & 0o777, 'it was made anew').toBe(0o600);
    expect((await load(cached)).settings.warnings).toEqual([]);

    writeFileSync(cacheFile(), planted.slice(0, 100));
    expect(await client(cached), 'half a file is none').toMatchObject({ clientId: 'portal' });
  });

  it('is not written in a dry run, nor if a file has just changed', async () => {
    await load({ build: 'one' });
    expect(existsSync(cacheFile())).toBe(false);
    await load({ ...cached, cache: 'read' });
    expect(existsSync(cacheFile())).toBe(false);
  });

  it('is not written with an error of a directory, because its correction does not change the file', async () => {
    mkdirSync(at('secrets'));
    put('secrets/client', 'from-file\n');
    put(
      'berth.yml',
      `state_dir: ${at('state')}\ndefaults: {credentials: {client_secret_file: ${at('secrets/client')}}}\n`,
    );
    const secret = async (): Promise<unknown> => {
      const { settings } = await load(cached);
      const [prod] = settings.clusters;
      return prod?.credentials.mode === 'oidc' ? prod.credentials.clientAuth : undefined;
    };
    chmodSync(at('secrets'), 0o777);
    const { broken } = await load(cached);
    expect(broken.map(({ error }) => error.code)).toEqual(['config-directory-writable']);
    chmodSync(at('secrets'), 0o755);
    expect(await secret()).toMatchObject({ secret: 'from-file' });
  });

  it('is optional: a warning if it cannot be written', async () => {
    put('state', 'a file in the place of the directory');
    const loaded = await load(cached);
    expect(names(loaded)).toEqual(['prod']);
    expect(loaded.settings.warnings.map(({ code }) => code)).toContain(
      'settings-cache-not-written',
    );
  });
});

describe('the first present file', () => {
  it('is the first name if neither exists, and both are sources of the cache', () => {
    const reader = new ConfigReader(process.getuid?.() ?? 0);
    const paths = [at('none'), at('hooks.env')] as const;
    expect(reader.firstPresent([...paths])).toBe(at('none'));
    put('hooks.env', '');
    expect(reader.firstPresent([...paths])).toBe(at('hooks.env'));
    expect(reader.sources.get(at('none'))).toBe('absent');
    expect([...reader.sources.keys()]).toEqual(paths);
    expect(reader.firstPresent([at('hook.env'), at('hooks.env')])).toBe(at('hook.env'));
  });
});
