import '../../scripts/check-node.ts';
import { complain, say } from './progress.ts';
import { recordFile } from './record.ts';
import { openSite } from './site.ts';

/** `npm run site:up`: starts the test site, or says that it runs. */
try {
  const site = await openSite();
  say(`the site is up; all about it is in ${recordFile}`);
  say(`  export KUBECONFIG=${site.adminKubeconfig}`);
  say(`  Keycloak realm ${site.keycloak.issuer}`);
  for (const { feature, reason } of site.skips) say(`  without ${feature}: ${reason}`);
} catch (error) {
  complain(error);
  process.exitCode = 1;
}
