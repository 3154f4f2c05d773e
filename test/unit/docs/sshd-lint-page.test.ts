import { expect, it } from 'vitest';
import { explanations } from '../../../src/cli/explain/explain-text.ts';
import { sshdFindingCodes } from '../../../src/setup/sshd-lint/rules/sshd-finding.ts';
import { tableRows } from '../../rig/markdown-pages.ts';

it('docs/ssh-sshd.md has each code of the linter once, from which `berth explain` has its texts', () => {
  const codes = tableRows('docs/ssh-sshd.md', 'code').map(([code]) => code);
  expect(codes).toEqual(sshdFindingCodes);
  const explained = explanations(undefined).filter(({ type }) => type === 'finding');
  expect(explained.map(({ code }) => code)).toEqual(codes);
});
