import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  fileIdentity,
  readConfigDirectory,
  readConfigFile,
} from '../../../src/system/config-files.ts';

const uid = process.geteuid?.() ?? 0;
const root = uid === 0;
let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'config-files-'));
  file = join(directory, 'hook.env');
  writeFileSync(file, 'A=1\n', { mode: 0o600 });
});
afterEach(() => rmSync(directory, { recursive: true }));

const refused = (code: string, hint: RegExp): unknown =>
  expect.objectContaining({
    code,
    exit: 'config',
    fields: { file },
    hint: expect.stringMatching(hint) as unknown,
  });

describe('a configuration file', () => {
  it('is read when only its owner can write it', () => {
    const read = readConfigFile(file, uid);
    expect(read.bytes.toString()).toBe('A=1\n');
    expect(read.worldReadable).toBe(false);
    chmodSync(file, 0o644);
    expect(readConfigFile(file, uid).worldReadable).toBe(true);
  });

  it('is refused when it is missing', () => {
    rmSync(file);
    expect(() => readConfigFile(file, uid)).toThrow(refused('config-missing', /hook_env: null/));
  });

  it('of OnDemand leads to what writes it on a login node', () => {
    const hint = /berth init login-node --backend pod/;
    expect(() => readConfigFile('/etc/ood/none.d/prod.yml', uid)).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(hint) as unknown }),
    );
  });

  it.each(['', '\n  \n'])('is refused when nothing is in it: %j', (text) => {
    writeFileSync(file, text);
    expect(() => readConfigFile(file, uid)).toThrow(refused('config-empty', /Restore/));
  });

  it.each([
    [0o602, 'all users'],
    [0o660, 'group'],
    [0o666, 'all users'],
  ])('is refused with mode %o: %s can write it', (mode, who) => {
    chmodSync(file, mode);
    expect(() => readConfigFile(file, uid)).toThrow(
      refused('config-writable-by-others', /chmod go-w/),
    );
    expect(() => readConfigFile(file, uid)).toThrow(who);
  });

  it.skipIf(!root)('is refused when somebody else owns it (needs root)', () => {
    chownSync(file, 65534, 0);
    expect(() => readConfigFile(file, 0)).toThrow(
      refused('config-not-owned-by-root', /chown root/),
    );
  });

  it('is refused when it is a directory', () => {
    rmSync(file);
    mkdirSync(file);
    expect(() => readConfigFile(file, uid)).toThrow(refused('config-not-a-file', /./));
  });

  it('is refused at once when it is a FIFO, which would never end', () => {
    rmSync(file);
    execFileSync('mkfifo', ['-m', '600', file]);
    expect(() => readConfigFile(file, uid)).toThrow(refused('config-not-a-file', /./));
  });

  it('is refused when it cannot be opened', () => {
    rmSync(file);
    symlinkSync('hook.env', file);
    expect(() => readConfigFile(file, uid)).toThrow(refused('config-unreadable', /namei/));
  });

  it('is refused above 1 MiB', () => {
    writeFileSync(file, 'x'.repeat(1024 * 1024 + 1));
    expect(() => readConfigFile(file, uid)).toThrow(refused('config-too-large', /./));
  });

  it('has another identity after each change, also with the same size', () => {
    const seen = new Set([fileIdentity(file)]);
    expect(readConfigFile(file, uid).identity).toBe(fileIdentity(file));
    execFileSync('sleep', ['0.02']);
    writeFileSync(file, 'A=2\n');
    seen.add(fileIdentity(file));
    execFileSync('sleep', ['0.02']);
    chmodSync(file, 0o640);
    seen.add(fileIdentity(file));
    writeFileSync(`${file}.new`, 'A=2\n');
    renameSync(`${file}.new`, file);
    seen.add(fileIdentity(file));
    rmSync(file);
    seen.add(fileIdentity(file));
    expect(seen.size).toBe(5);
  });
});

describe('a configuration directory', () => {
  it('lists its entries in order', () => {
    writeFileSync(join(directory, 'b.yml'), '');
    expect(readConfigDirectory(directory, uid).names).toEqual(['b.yml', 'hook.env']);
  });

  it('is refused when others can put files into it', () => {
    chmodSync(directory, 0o777);
    expect(() => readConfigDirectory(directory, uid)).toThrow(
      expect.objectContaining({ code: 'config-writable-by-others' }),
    );
  });

  it('is refused when it is a file or missing', () => {
    expect(() => readConfigDirectory(file, uid)).toThrow(refused('config-not-a-directory', /./));
    rmSync(file);
    expect(() => readConfigDirectory(file, uid)).toThrow(refused('config-missing', /./));
  });
});
