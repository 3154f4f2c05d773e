import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadLdapSettings } from '../../../../src/config/load/load-ldap-settings.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'load-ldap-settings-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('the section ldap of berth.yml', () => {
  const searches = '  users: {base: u}\n  groups: {base: g}\n';

  it.each([
    [
      `ldap:\n  timeout: 30\n  url: ldap://h\n${searches}`,
      '2:12: ldap.timeout must be a time such',
    ],
    [
      `ldap:\n  timeout: 0s\n  url: ldap://h\n${searches}`,
      '2:12: ldap.timeout must be a time from',
    ],
    [`ldap:\n  uri: ldap://h\n  url: ldap://h\n${searches}`, '2:3: ldap.uri is unknown'],
    [`ldap:\n  url: http://h\n${searches}`, '2:8: ldap.url: http://h must be ldap://HOST'],
    [`ldap:\n  url: ldap://h:0\n${searches}`, '2:8: ldap.url: ldap://h:0 must be ldap://HOST'],
    [`ldap:\n  url: ldap://h:99999\n${searches}`, '2:8: ldap.url: ldap://h:99999 must be'],
    [`ldap:\n${searches}`, '2:3: ldap.url is missing'],
  ])('says where a mistake is: %j', (text, message) => {
    const configFile = join(directory, 'berth.yml');
    writeFileSync(configFile, text, { mode: 0o600 });
    expect(() => loadLdapSettings({ configFile, groupMayRead: false })).toThrow(
      expect.objectContaining({
        code: 'ldap-invalid',
        message: expect.stringContaining(`${configFile}:${message}`) as string,
      }) as Error,
    );
  });
});
