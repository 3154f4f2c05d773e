import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { tableRows } from '../../rig/markdown-pages.ts';

it('docs/ssh-sshd.md names exactly the codes of the linter', () => {
  const source = readFileSync(
    new URL('../../../src/sshd-lint/rules/sshd-finding.ts', import.meta.url),
    'utf8',
  );
  const codes = [...source.matchAll(/^ {2}\| '([a-z0-9-]+)'/gm)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(30);
  expect(tableRows('docs/ssh-sshd.md', 'code').map(([code]) => code)).toEqual(codes);
});
