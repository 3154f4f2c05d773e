import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { checkDockerConfig } from '../../../src/clusters/access/bootstrap-user.ts';
import { codeBlocks } from '../../rig/markdown-pages.ts';

it('the commands for the pull secret write what the hook accepts, for root alone', async () => {
  const [block] = codeBlocks('docs/configuration.md').filter(({ text }) =>
    text.includes('docker-config.json'),
  );
  const directory = mkdtempSync(join(tmpdir(), 'pull-secret-'));
  const file = join(directory, 'docker-config.json');
  // Longer than the lines of base64(1).
  const password = 'p@ss"word:\\'.repeat(9);
  await execa('bash', ['-euc', (block?.text ?? '').replace('/etc/ood/config/', `${directory}/`)], {
    input: `robot\n${password}\n`,
  });

  const text = checkDockerConfig(readFileSync(file, 'utf8'), file);
  const { auths } = JSON.parse(text) as { auths: Record<string, { auth: string }> };
  const { auth = '' } = auths['registry.example.org'] ?? {};
  expect(Buffer.from(auth, 'base64').toString()).toBe(`robot:${password}`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  rmSync(directory, { recursive: true });
});
