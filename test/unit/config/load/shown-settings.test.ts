import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { defaultsOf } from '../../../../src/cli/kit/configuration-keys.ts';
import {
  settingsFiles,
  type ShownSetting,
  shownSettings,
} from '../../../../src/config/load/shown-settings.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-shown-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const at = (path: string): string => join(directory, basename(path));
const paths = () => settingsFiles('/root/test.yml', at);

function shown(files: Readonly<Record<string, string>>): readonly ShownSetting[] {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return shownSettings(paths(), at);
}

it('prints each setting with its file and line, and no secret', () => {
  const settings = shown({
    'hook.env': '# of OSC\nCLIENT_ID=ondemand\nCLIENT_SECRET="s3cret"\n',
    'test.yml':
      'deadline: 5s\nclusters:\n  prod:\n    admin: {context: c}\n    allowed_cidrs: [192.0.2.0/24]\n    credentials:\n      client_secret_file: /etc/berth/secret\n',
    'ssh.yml': '\nstorage: /data\n',
  });
  const rows = settings.map(({ key, value, file, line }) => [key, value, basename(file), line]);
  expect(rows).toEqual([
    ['CLIENT_ID', 'ondemand', 'hook.env', 2],
    ['CLIENT_SECRET', '***', 'hook.env', 3],
    ['deadline', '5s', 'test.yml', 1],
    ['clusters.prod.admin.context', 'c', 'test.yml', 4],
    ['clusters.prod.allowed_cidrs', ['192.0.2.0/24'], 'test.yml', 5],
    ['clusters.prod.credentials.client_secret_file', '/etc/berth/secret', 'test.yml', 7],
    ['storage', '/data', 'ssh.yml', 2],
  ]);
});

it('has the defaults of the keys that no file sets', () => {
  const defaults = defaultsOf(shown({}), paths());
  const byKey = new Map(defaults.map(({ key, value }) => [key, value]));
  expect(byKey.get('minimum_uid')).toBe(1000);
  expect(byKey.get('profiles_dir')).toBe('/etc/berth/profiles');
  expect(byKey.has('deadline')).toBe(false);
  expect(byKey.has('storage')).toBe(false);
  expect(defaults.filter(({ line }) => line !== undefined)).toEqual([]);
});

it('has the defaults of a berth.yml with another name, below its path', () => {
  const defaults = defaultsOf(shown({}), paths());
  const of = (name: string) => defaults.find(({ key }) => key === name)?.file;
  expect([of('minimum_uid'), of('otherwise')]).toEqual([at('test.yml'), at('ssh.yml')]);
});

it('shows a site without hook.env, and without any file', () => {
  expect(shown({ 'test.yml': 'hook_env: null\n' }).map(({ key }) => key)).toEqual([
    'hook_env',
    'storage',
  ]);
  for (const name of ['test.yml', 'ssh.yml', 'hook.env']) rmSync(join(directory, name));
  expect(shown({})).toEqual([]);
});

it('shows no secret under another name, in a list or in a URL', () => {
  const settings = shown({
    'hook.env':
      'CLIENT_SECRET=s3cret-value\nKUBECTL_ARGS="--client-secret=$CLIENT_SECRET"\nAPI_KEY=abcd\nCLIENT_ID="for $CLIENT_SECRET"\nIMAGE_PULL_SECRET=registry\n',
    'test.yml':
      'extra: [{token: listed}]\nclusters: {prod: {credentials: {token: access}, server: "https://a:hunter2@example.com"}}\n',
    'ssh.yml': 'ssh_sessions: {secret: name}\n',
  });
  expect(JSON.stringify(settings)).not.toMatch(/s3cret|abcd|listed|hunter2/);
  const byKey = new Map(settings.map(({ key, value }) => [key, value]));
  expect(byKey.get('IMAGE_PULL_SECRET')).toBe('registry');
  expect(byKey.get('CLIENT_ID')).toBe('for ***');
  expect(byKey.get('clusters.prod.credentials.token')).toBe('access');
  expect(byKey.get('ssh_sessions.secret')).toBe('name');
  expect(byKey.get('extra')).toEqual([{ token: '***' }]);
});
