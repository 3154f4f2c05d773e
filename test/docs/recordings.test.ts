import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureAccount } from '../rig/site/accounts.ts';
import { openSite } from '../rig/site/site.ts';
import { PortalHost } from '../site-exclusive/docs/portal-host.ts';

/** With BERTH_RECORD=1 the page is written; otherwise it is compared. */
const page = new URL('../../docs/plan-and-doctor.md', import.meta.url);
const recording = process.env.BERTH_RECORD === '1';
const user = 'recorded';

let host: PortalHost;
beforeAll(async () => {
  const site = await openSite();
  await ensureAccount(user);
  host = await PortalHost.make(site);
  await host.run('npm run install:site -- --prefix /usr/lib/berth');
  await host.run(
    '/usr/lib/berth/berth token setup --cluster $(basename -s .yml /etc/ood/config/clusters.d/*.yml) --from /root/admin.kubeconfig',
  );
}, 300_000);
afterAll(() => host.remove());

describe('docs/plan-and-doctor.md', () => {
  it('is what the programs print', { timeout: 120_000 }, async () => {
    const blocks = [
      await printed(`berth plan --user ${user}`),
      await printed(`berth doctor --user ${user}`),
    ];
    const text = await readFile(page, 'utf8');
    let next = 0;
    const expected = text.replaceAll(
      /^```text\n[\s\S]*?^```$/gm,
      () => `\`\`\`text\n${blocks[next++] ?? ''}\n\`\`\``,
    );
    if (recording) await writeFile(page, expected);
    expect(await readFile(page, 'utf8')).toBe(expected);
  });
});

/** The command and its output, with the names of the test site replaced by those of an example. */
async function printed(command: string): Promise<string> {
  const { stdout } = await host.run(`/usr/lib/berth/${command} 2>&1 || true`);
  return `# ${command}\n${stdout.trim()}`;
}
