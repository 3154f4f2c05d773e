import '../../scripts/check-node.ts';
import { assertOursOrAbsent, homeOf } from '../rig/site/accounts.ts';
import { installBerth, installDirectory, Portal } from '../rig/site/portal.ts';
import { step } from '../rig/site/progress.ts';
import { openSite, type Site } from '../rig/site/site.ts';
import { stopSite } from '../rig/site/start.ts';
import { ownNamespaces } from './own-namespace.ts';
import { namespaceOf, resetUsers, demoUsers } from './users.ts';
import { endNotebook, notebook, showNotebook, type Notebook } from './notebook.ts';
import { planAfter, planBefore } from './plans.ts';
import { podSession } from './pod-session.ts';
import { portalLogins } from './portal-login.ts';
import { sshSession } from './ssh-session.ts';
import { Story } from './story.ts';
import { timing } from './timing.ts';

/** `npm run demo`: two users log in to a portal and use kubectl; one of them also comes by ssh and has a notebook. */
async function demo(story: Story): Promise<void> {
  // Before anything is installed or started.
  await assertOursOrAbsent([...demoUsers, 'demo-berth', 'demo-osc', 'test-hub']);
  const site = await openSite();
  await endNotebook();
  const portal = await step('installing Berth', async () => {
    await installBerth();
    await resetUsers(site);
    return Portal.make(site);
  });
  showSite(story, site, portal);
  await planBefore(story, portal);
  await portalLogins(story, portal);
  await ownNamespaces(story, site);
  await planAfter(story, portal);
  await timing(story);
  await sshSession(story);
  await podSession(story, site);
  const opened = await notebook(story);
  if (process.env.CI === 'true') await step('stopping the site', stopSite);
  else showNextCommands(story, site, portal, opened);
}

function showSite(story: Story, site: Site, portal: Portal): void {
  story.step('A portal host, a Kubernetes cluster and an identity provider');
  story.output(
    [
      `Kubernetes  ${site.server}`,
      `Keycloak    ${site.keycloak.issuer}`,
      `OnDemand    ${portal.files.clustersDir}/prod.yml, ${portal.files.hookEnv}`,
      `users       ${demoUsers.join(', ')}: Linux accounts without namespaces on the cluster`,
    ].join('\n'),
  );
}

function showNextCommands(story: Story, site: Site, portal: Portal, opened: Notebook): void {
  story.step('The site is still running');
  showNotebook(story, site, opened);
  story.say('Commands to look around:');
  story.command('root', `export KUBECONFIG=${site.adminKubeconfig}`);
  story.command(
    'root',
    `${site.kubectlPath} get all,netpol,rolebindings -n ${namespaceOf('alice')}`,
  );
  story.command('root', `runuser -l alice -c '${site.kubectlPath} get secrets'`);
  story.command('root', `cat ${homeOf('alice')}/.kube/config`);
  story.command('root', `${installDirectory}/berth doctor --config ${portal.files.berth}`);
  story.say('To stop the site:');
  story.command('root', 'npm run site:down');
}

try {
  await demo(new Story(process.stdout, process.env));
} catch (error) {
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
