import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { parse, stringify } from 'yaml';
import { codeBlocks } from '../markdown-pages.ts';
import { installDirectory, type Portal } from '../site/portal.ts';
import type { Site } from '../site/site.ts';

/** The hub's kubeconfig that the commands of docs/jupyterhub.md make, after its token has been renewed. */
export async function renewedKubeconfig(site: Site, portal: Portal): Promise<string> {
  const own = join(portal.directory, 'hub.kubeconfig');
  const config = join(portal.directory, 'hub.yml');
  const { defaults, ...berth } = parse(await readFile(portal.files.berth, 'utf8')) as {
    readonly defaults: object;
  };
  const admin = { kubeconfig: own };
  await writeFile(config, stringify({ ...berth, defaults: { ...defaults, admin } }));
  const [block] = codeBlocks('docs/jupyterhub.md').filter(({ text }) => text.includes('hub-token'));
  const script = (block?.text ?? '')
    .replace('/etc/berth/hub.yml', config)
    .replace('/root/admin.kubeconfig', site.adminKubeconfig);
  const path = [dirname(site.kubectlPath), installDirectory, '/usr/bin', '/bin'].join(':');
  const env = { KUBECONFIG: site.adminKubeconfig, PATH: path, HOME: portal.directory };
  await execa('bash', ['-e', '-c', script], { env, extendEnv: false });
  const first = await readFile(own, 'utf8');
  await execa(join(installDirectory, 'berth'), ['token', 'rotate', '--config', config]);
  const renewed = await readFile(own, 'utf8');
  if (renewed === first) throw new Error('the token was not renewed');
  return renewed;
}
