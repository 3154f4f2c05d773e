import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lintSettings } from '../../../../src/setup/sshd-lint/lint-host.ts';

it('a mistake in ssh.yml is reported with its line, and a missing file is not', async () => {
  const directory = await mkdtemp('/tmp/berth-lint-settings-');
  try {
    const path = join(directory, 'ssh.yml');
    expect(await lintSettings(path)).toMatchObject({ sessionNetwork: 'unknown', findings: [] });
    await writeFile(path, 'rules:\n  - profil: x\n', { mode: 0o644 });
    const { findings } = await lintSettings(path);
    expect(findings).toMatchObject([{ code: 'settings-invalid', severity: 'advice' }]);
    expect(findings[0]?.message).toContain(`${path}:2:5`);
    expect(findings[0]?.closedBy).toMatch(/^correct this first/);
  } finally {
    await rm(directory, { recursive: true });
  }
});
