import { describe, expect, it } from 'vitest';
import {
  type DirectoryIds,
  reservedIds,
  sambaIds,
  sssdIds,
} from '../../../../../src/setup/subid/rules/directory-ids.ts';

const mapped = '200000-2000200000';
const ranges = ({ reserved }: DirectoryIds): string[] =>
  reserved.map(({ start, count }) => `${start}-${start + count - 1}`);

describe('a domain of sssd', () => {
  it.each([
    ['ad', '', mapped],
    ['ad', 'ldap_id_mapping = True', mapped],
    ['ad', 'ldap_idmap_range_min = 10000\nldap_idmap_range_max=20000', '10000-20000'],
    ['ad', 'LDAP_IDMAP_RANGE_MAX = 300000\n; ldap_idmap_range_min = 5', '200000-300000'],
    ['ad', 'enumerate = true', mapped],
    ['ldap', 'ldap_id_mapping = true\nldap_schema = ad', mapped],
    ['idp', 'idmap_range_min = 300000', '300000-2000200000'],
    ['ldap', 'max_id = 60000', '1-60000'],
    ['ad', 'ldap_id_mapping = false\nmin_id = 5000\nmax_id = 60000', '5000-60000'],
  ])('of %s with %j reserves %s', (provider, keys, range) => {
    const found = sssdIds([`[domain/a.example]\nid_provider = ${provider}\n${keys}\n`]);
    expect(ranges(found)).toEqual([range]);
    expect(found).toMatchObject({
      reserved: [{ name: "the range of sssd's domain a.example" }],
      unlisted: [],
    });
  });

  it.each([
    ['ldap', ''],
    ['ldap', '# max_id = 60000'],
    ['ldap', 'max_id = 0'],
    ['ldap', 'enumerate = false'],
    ['ad', 'ldap_id_mapping = False'],
    ['ad', 'ldap_idmap_range_min = many'],
    ['ipa', ''],
    ['proxy', 'ldap_id_mapping = true'],
  ])('of %s with %j may have any IDs', (provider, keys) => {
    const found = sssdIds([`[domain/a.example]\nid_provider = ${provider}\n${keys}\n`]);
    expect(found).toEqual({ reserved: [], unlisted: ["sssd's domain a.example"] });
  });

  it.each([
    ['lists its accounts', '[domain/a]\nid_provider = ldap\nenumerate = TRUE\n'],
    ['is the files of the host', '[domain/a]\nid_provider = files\n'],
    ['has no accounts', '[domain/a/sub]\nuse_fully_qualified_names = true\n'],
    ['does not exist', '[sssd]\nid_provider = ldap\n[nss]\nid_provider = ldap\n'],
  ])('that %s reserves nothing', (_what, text) => {
    expect(sssdIds([text])).toEqual({ reserved: [], unlisted: [] });
  });

  it('has the last value of all files', () => {
    const found = sssdIds([
      '[domain/a]\nid_provider = ad\nldap_idmap_range_max = 900000\n[domain/b]\nid_provider = ldap\n',
      '[domain/b]\nmax_id = 9000\n',
      ' [domain/a]\r\nldap_idmap_range_max = 400000\r\nldap_idmap_range_min =\r\n',
    ]);
    expect(ranges(found)).toEqual(['200000-400000', '1-9000']);
    expect(found.unlisted).toEqual([]);
  });
});

describe('the ranges of winbind', () => {
  it('are those of all domains, however the names are written', () => {
    const found = sambaIds(
      [
        '[global]',
        '  idmap config * : backend = tdb',
        '  idmap config * : range = 3000-7999',
        '  IDMAP  config SAMDOM:Range = 10000 - \\',
        '999999',
        '  winbind uid = 1000000-1999999',
        '; idmap config OLD : range = 1-2',
        '# idmap config OLD : range = 1-2',
      ].join('\n'),
    );
    expect(ranges(found)).toEqual(['3000-7999', '10000-999999', '1000000-1999999']);
    expect(found.reserved[0]?.name).toBe('the range of `idmap config * : range` in smb.conf');
    expect(found.unlisted).toEqual([]);
  });

  it.each([
    ['there are none', '[global]\nworkgroup = A\n'],
    ['some are in another file', 'idmap config * : range = 1-2\ninclude = /etc/samba/more.conf\n'],
    ['some are in the registry', 'idmap config * : range = 1-2\nconfig backend = registry\n'],
    ['one is no range', 'idmap config * : range = 1-2\nidmap config A : range = 5\n'],
  ])('are not all where %s', (_what, text) => {
    expect(sambaIds(text).unlisted).toEqual(['winbind']);
  });
});

it('--reserved is FROM-TO', () => {
  expect(reservedIds('1000-99999')).toMatchObject({ start: 1000, count: 99_000 });
  for (const text of ['1000', '2-1', 'a-b', '1-2-3', ' 1-2', ''])
    expect(reservedIds(text)).toBe(undefined);
});
