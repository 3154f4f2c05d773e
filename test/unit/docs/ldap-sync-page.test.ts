import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { ldapSchema } from '../../../src/config/schema/ldap-schema.ts';
import { parseLdap } from '../../../src/config/schema/ldap-settings.ts';
import { codeBlocks, tableRows } from '../../rig/markdown-pages.ts';
import { keysOf } from './schema-keys.ts';

const page = 'docs/ldap-sync.md';

it('docs/ldap-sync.md describes exactly the keys of ldap', () => {
  const described = tableRows(page, 'key of ldap').map(([key = '']) => key);
  expect(described.sort()).toEqual(keysOf(ldapSchema).sort());
});

it('docs/ldap-sync.md has a valid example and the real defaults', () => {
  const [block] = codeBlocks(page).filter(({ text }) => text.includes('ldap:\n'));
  const { ldap } = parse(block?.text ?? '') as { ldap: object };
  const settings = parseLdap(ldap, page);
  const builtIn = new Map(tableRows(page, 'key of ldap').map(([key, value]) => [key, value]));
  expect(settings.servers).toHaveLength(2);
  expect([
    settings.timeoutMs,
    settings.pageSize,
    settings.keepPercent,
    settings.minimumGid,
  ]).toEqual(
    ['timeout', 'page_size', 'keep_percent', 'minimum_gid'].map((key) =>
      Number((builtIn.get(key) ?? '').replace('30s', '30000')),
    ),
  );
  expect([settings.namespaceSelector, settings.users.filter, settings.groups.filter]).toEqual([
    ...['namespace_selector', 'users.filter', 'groups.filter'].map((key) => builtIn.get(key)),
  ]);
});
