import '../../scripts/check-node.ts';
import { homeOf } from '../rig/site/accounts.ts';
import { installBerth, installed, Portal } from '../rig/site/portal.ts';
import { step } from '../rig/site/progress.ts';
import { openSite, type Site } from '../rig/site/site.ts';
import { stopSite } from '../rig/site/start.ts';
import { ownNamespaces } from './own-namespace.ts';
import { namespaceOf, newcomers, people } from './users.ts';
import { planAfter, planBefore } from './plans.ts';
import { podSession } from './pod-session.ts';
import { portalLogins } from './portal-login.ts';
import { sshSession } from './ssh-session.ts';
import { Story } from './story.ts';
import { timing } from './timing.ts';

/** `npm run demo`: two users log in at a portal and work on a real cluster; one comes with ssh, too. */
async function demo(story: Story): Promise<void> {
  const site = await openSite();
  const portal = await step('installing Berth', async () => {
    await installBerth();
    await newcomers(site);
    return Portal.make(site);
  });
  theScene(story, site, portal);
  await planBefore(story, portal);
  await portalLogins(story, portal);
  await ownNamespaces(story, site);
  await planAfter(story, portal);
  await timing(story);
  await sshSession(story);
  await podSession(story, site);
  if (process.env.CI === 'true') await step('the site to end', stopSite);
  else lookAround(story, site, portal);
}

function theScene(story: Story, site: Site, portal: Portal): void {
  story.step('A portal host, a real cluster, a real identity provider');
  story.output(
    [
      `Kubernetes  ${site.server}`,
      `Keycloak    ${site.keycloak.issuer}`,
      `OnDemand    ${portal.files.clustersDir}/prod.yml, ${portal.files.hookEnv}`,
      `users       ${people.join(', ')}: Linux accounts, new to the cluster`,
    ].join('\n'),
  );
}

function lookAround(story: Story, site: Site, portal: Portal): void {
  story.step('Look around');
  story.say('The site goes on running:');
  story.command('root', `export KUBECONFIG=${site.adminKubeconfig}`);
  story.command(
    'root',
    `${site.kubectlPath} get all,netpol,rolebindings -n ${namespaceOf('alice')}`,
  );
  story.command('root', `runuser -l alice -c '${site.kubectlPath} get secrets'`);
  story.command('root', `cat ${homeOf('alice')}/.kube/config`);
  story.command('root', `${installed}/berth doctor --config ${portal.files.berth}`);
  story.say('and ends with:');
  story.command('root', 'npm run site:down');
}

try {
  await demo(new Story(process.stdout, process.env));
} catch (error) {
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
