import {
  chmodSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfigDirectory, readConfigFile } from '../../../src/system/config-files.ts';

const uid = process.geteuid?.() ?? 0;
const other = 65_534;
let top: string;
let etc: string;
let file: string;

beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'config-folders-'));
  etc = join(top, 'etc');
  file = join(etc, 'berth', 'berth.yml');
  mkdirSync(join(etc, 'berth'), { recursive: true, mode: 0o755 });
  writeFileSync(file, 'deadline: 5s\n', { mode: 0o644 });
});
afterEach(() => rmSync(top, { recursive: true }));

const refused = (directory: string, hint: RegExp): unknown =>
  expect.objectContaining({
    code: 'config-directory-writable',
    exit: 'config',
    fields: { file, directory },
    hint: expect.stringMatching(hint) as unknown,
  });

describe('the directories above a configuration file', () => {
  it('are accepted, also below the sticky /tmp', () => {
    expect(readConfigFile(file, uid).bytes.toString()).toBe('deadline: 5s\n');
  });

  it.each([
    { mode: 0o777, who: 'all users' },
    { mode: 0o775, who: 'group' },
  ])('must not be writable for others: mode %o', ({ mode, who }) => {
    chmodSync(etc, mode);
    expect(() => readConfigFile(file, uid)).toThrow(refused(etc, /chmod go-w/));
    expect(() => readConfigFile(file, uid)).toThrow(`${etc} is writable by ${who}`);
  });

  it('are checked even if the file is missing: another user may have removed it', () => {
    rmSync(file);
    chmodSync(join(etc, 'berth'), 0o777);
    expect(() => readConfigFile(file, uid)).toThrow(refused(join(etc, 'berth'), /chmod/));
  });

  it('are checked for a configuration directory too', () => {
    chmodSync(etc, 0o777);
    expect(() => readConfigDirectory(join(etc, 'berth'), uid)).toThrow(
      expect.objectContaining({ code: 'config-directory-writable' }),
    );
  });

  it('may have dots and doubled slashes in their path', () => {
    const path = `${etc}//./berth/../berth/berth.yml`;
    expect(readConfigFile(path, uid).bytes.length).toBeGreaterThan(0);
    chmodSync(etc, 0o777);
    expect(() => readConfigFile(path, uid)).toThrow('could replace');
  });
});

describe.skipIf(uid !== 0)('what belongs to somebody else (needs root)', () => {
  it('is refused as a directory, whatever its mode', () => {
    lchownSync(etc, other, 0);
    expect(() => readConfigFile(file, 0)).toThrow(refused(etc, /chown -h root/));
  });

  it('is accepted if the caller is the owner', () => {
    lchownSync(etc, other, other);
    expect(readConfigFile(file, other).bytes.length).toBeGreaterThan(0);
  });

  it('is refused as a symlink in a sticky directory, whose owner can change it', () => {
    const shared = join(top, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o1777);
    symlinkSync(file, join(shared, 'link'));
    expect(readConfigFile(join(shared, 'link'), 0).bytes.length).toBeGreaterThan(0);
    lchownSync(join(shared, 'link'), other, 0);
    expect(() => readConfigFile(join(shared, 'link'), 0)).toThrow('belongs to UID 65534');
  });
});

describe('a symlink in the path', () => {
  it.each([
    { what: 'to the file', at: 'link.yml', to: 'etc/berth/berth.yml', rest: '' },
    { what: 'to a directory, relative', at: 'conf', to: './etc/../etc/berth', rest: '/berth.yml' },
  ])('$what: the directories that it leads through are checked', ({ at, to, rest }) => {
    symlinkSync(to, join(top, at));
    const path = join(top, at) + rest;
    expect(readConfigFile(path, uid).bytes.length).toBeGreaterThan(0);
    chmodSync(etc, 0o777);
    expect(() => readConfigFile(path, uid)).toThrow('could replace');
  });

  it('is checked with the directory that it is in, also when it is not the first', () => {
    const open = join(top, 'open');
    mkdirSync(open);
    symlinkSync(file, join(open, 'second'));
    symlinkSync(join(open, 'second'), join(top, 'first'));
    expect(readConfigFile(join(top, 'first'), uid).bytes.length).toBeGreaterThan(0);
    chmodSync(open, 0o777);
    expect(() => readConfigFile(join(top, 'first'), uid)).toThrow(`${open} is writable`);
  });

  it('that leads to itself is named as unreadable', () => {
    symlinkSync('loop', join(top, 'loop'));
    expect(() => readConfigFile(join(top, 'loop'), uid)).toThrow(
      expect.objectContaining({ code: 'config-unreadable' }),
    );
  });
});
