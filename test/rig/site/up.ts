import '../../../scripts/check-node.ts';
import { parseArgs } from 'node:util';
import { complain, say } from './progress.ts';
import { recordFile } from './record.ts';
import { openSite } from './site.ts';

/**
 * `npm run site:up`: starts the test site, or says that it runs. With `-- --kubernetes 1.34` it is one of
 * that version: tests then use it as they find it.
 */
try {
  const { kubernetes } = parseArgs({ options: { kubernetes: { type: 'string' } } }).values;
  if (kubernetes !== undefined) process.env.BERTH_TEST_KUBERNETES = kubernetes;
  const site = await openSite();
  say(`the site is up; all about it is in ${recordFile}`);
  say(`  Kubernetes ${site.record.kubernetesMinor}`);
  say(`  export KUBECONFIG=${site.adminKubeconfig}`);
  say(`  Keycloak realm ${site.keycloak.issuer}`);
  for (const { feature, reason } of site.skips) say(`  without ${feature}: ${reason}`);
} catch (error) {
  complain(error);
  process.exitCode = 1;
}
