import '../../../scripts/check-node.ts';
import { parseArgs } from 'node:util';
import { ensurePackages } from './debian-packages.ts';
import { printError, say } from './progress.ts';
import { recordFile } from './site-record.ts';
import { openSite } from './site.ts';
import { testPackages } from './test-packages.ts';

/**
 * `npm run site:up`: starts the test site, unless it is running, and prints how to use it. With
 * `-- --kubernetes 1.34` it has that version of Kubernetes; tests use the site that they find running. `--packages` installs
 * the Debian packages of all tests, too.
 */
try {
  const { kubernetes, packages } = parseArgs({
    options: { kubernetes: { type: 'string' }, packages: { type: 'boolean', default: false } },
  }).values;
  if (kubernetes !== undefined) process.env.BERTH_TEST_KUBERNETES = kubernetes;
  if (packages) await ensurePackages(testPackages);
  const site = await openSite();
  say(`the site is running; its description is in ${recordFile}`);
  say(`  Kubernetes ${site.record.kubernetesMinor}`);
  say(`  export KUBECONFIG=${site.adminKubeconfig}`);
  say(`  Keycloak realm ${site.keycloak.issuer}`);
  for (const { feature, reason } of site.skips) say(`  without ${feature}: ${reason}`);
} catch (error) {
  printError(error);
  process.exitCode = 1;
}
