import { expect, it } from 'vitest';
import { sshdFindingCodes } from '../../../src/sshd-lint/rules/sshd-finding.ts';
import { tableRows } from '../../rig/markdown-pages.ts';

it('docs/ssh-sshd.md names exactly the codes of the linter', () => {
  expect(tableRows('docs/ssh-sshd.md', 'code').map(([code]) => code)).toEqual(sshdFindingCodes);
});
