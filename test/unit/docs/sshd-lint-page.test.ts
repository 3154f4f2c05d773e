import { expect, it } from 'vitest';
import { sshdFindingCodes } from '../../../src/sshd-lint/rules/sshd-finding.ts';
import { findingTexts } from '../../../src/sshd-lint/rules/finding-texts.ts';
import { tableRows } from '../../rig/markdown-pages.ts';

it('docs/ssh-sshd.md says what `berth explain` says of each code of the linter', () => {
  const texts = sshdFindingCodes.map((code) => {
    const { opens, closedBy } = findingTexts[code];
    return [code, opens, closedBy].map((text) => text.replaceAll('`', ''));
  });
  expect(tableRows('docs/ssh-sshd.md', 'code')).toEqual(texts);
});
