import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseBerthYml } from '../../../src/config/schema/berth-yml.ts';
import { parseLdap } from '../../../src/config/schema/ldap-settings.ts';
import { parseSlurmAccounts } from '../../../src/companions/slurm-accounts/rules/slurm-accounts-settings.ts';
import { codeBlocks } from '../../rig/markdown-pages.ts';

const page = 'docs/slurm.md';

it('docs/slurm.md has a valid example', () => {
  const [block] = codeBlocks(page).filter(({ text }) => text.includes('slurm_accounts:\n'));
  const { ldap, slurm_accounts: section } = parseBerthYml(parse(block?.text ?? ''), page);
  expect(parseLdap(ldap, page).servers).toHaveLength(2);
  expect(parseSlurmAccounts(section, page).accounts).toHaveLength(3);
});
