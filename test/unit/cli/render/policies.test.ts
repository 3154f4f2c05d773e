import { expect, it } from 'vitest';
import { refusal } from '../refusal.ts';

it('`berth render policies` has its own options only', async () => {
  // Not that --user, which `berth render` needs, is missing.
  expect(await refusal('render', 'policies', '--kubernetes', 'x')).toBe(
    '64: berth: --kubernetes x is not a version of Kubernetes [usage]',
  );
  for (const option of ['--user', '--config', '--show-secrets'])
    expect(await refusal('render', 'policies', option)).toBe(
      `64: berth: Unknown argument: ${option.slice(2)} [usage]`,
    );
});
