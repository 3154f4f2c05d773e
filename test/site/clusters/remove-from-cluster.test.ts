import { execa } from 'execa';
import { beforeAll, describe, expect, it } from 'vitest';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

const repository = new URL('../../..', import.meta.url).pathname;

/** Tries the block of the page that begins so. @returns what it would delete */
async function tried(site: Site, first: string): Promise<string> {
  const block = codeBlocks('docs/upgrade.md').find(({ text }) => text.startsWith(first));
  const kubectl = `${site.kubectlPath} --kubeconfig ${site.adminKubeconfig}`;
  const script = (block?.text ?? 'exit 1')
    .replaceAll(/^( *)kubectl\b/gm, `$1${kubectl}`)
    .replaceAll(' delete ', ' delete --dry-run=server ');
  return (await execa('bash', ['-euo', 'pipefail', '-c', script], { cwd: repository })).stdout;
}

describe('the commands that remove Berth from a cluster', () => {
  let site: Site;

  beforeAll(async () => {
    site = await openSite();
    // Installs etc/kubernetes.
    await (await Portal.make(site)).remove();
  });

  it('leave the roles and the namespace that OSC’s hooks use, too', async () => {
    const deleted = await tried(site, 'kubectl delete --ignore-not-found -k etc/kubernetes/adm');
    for (const name of ['berth-hook', 'berth-hook-guard', 'berth-token-rotate'])
      expect(deleted).toContain(`"${name}" deleted`);
    expect(deleted).not.toMatch(/"(?:ood-user|ood-initializer|ondemand)" deleted/);
  });

  it('delete these only afterwards', async () => {
    const deleted = await tried(site, 'kubectl delete -k etc/kubernetes/roles');
    for (const name of ['ood-user', 'ood-initializer', 'ondemand'])
      expect(deleted).toContain(`"${name}" deleted`);
  });
});
