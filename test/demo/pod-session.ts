import { ensureNode } from '../rig/site/kubernetes-node/node.ts';
import type { Site } from '../rig/site/site.ts';
import { waitFor } from '../rig/wait-for.ts';
import { startPodHost } from '../rig/login-node/pod-host.ts';
import { expectExitCode } from './expect-exit-code.ts';
import { runUserKubectl, namespaceOf } from './users.ts';
import type { Story } from './story.ts';

const person = 'alice';
const policies = 'etc/kubernetes/admission';

/** Shows an SSH session in a pod, and that the admission policies deny a pod that runs as another user. */
export async function podSession(story: Story, site: Site): Promise<void> {
  story.step(`${person} logs in with ssh to a pod of the cluster`);
  const image = await (await ensureNode(site)).image('site');
  const pods = await startPodHost(site, {
    mode: 'forced',
    users: { [person]: ['projects'] },
    profile: { lifetime: 'user' },
  });
  try {
    story.say(
      'The same commands with a profile that has `backend: pod`; the UID and GIDs are the same:',
    );
    for (const command of ['id', 'id; hostname']) {
      story.command(person, `ssh login '${command}'`);
      const started = performance.now();
      const { exitCode, stdout, stderr } = await pods.host.ssh(person, [command]);
      if (exitCode !== 0) throw new Error(`ssh exited with ${String(exitCode)}: ${stderr}`);
      const took = Math.round(performance.now() - started);
      story.output(`${stdout.toString().trimEnd()}\n(${took} ms)`);
    }
  } finally {
    await pods.stop();
  }
  story.say('Policies that require each pod to run as the owner of its namespace:');
  story.command('root', `kubectl apply -k ${policies}`);
  expectExitCode('kubectl', 0, await site.kubectl(['apply', '-k', policies]));
  try {
    story.say(`${person} tries to create a pod that runs as root:`);
    const hostile = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'hostile', namespace: namespaceOf(person) },
      spec: { containers: [{ name: 'c', image, securityContext: { runAsUser: 0 } }] },
    };
    const create = (...more: string[]) =>
      runUserKubectl(person, site, ['create', ...more, '-f', '-'], JSON.stringify(hostile));
    // The API server needs about a second to load new policies.
    await waitFor({ what: 'the policies to become active', timeoutMs: 60_000 }, async () =>
      (await create('--dry-run=server')).exitCode === 0 ? undefined : true,
    );
    story.command(person, 'kubectl create -f runs-as-root.yaml');
    const refused = await create();
    story.output(expectExitCode('kubectl', 1, refused).stderr.trim());
  } finally {
    await site.kubectl(['delete', '-k', policies, '--ignore-not-found']);
  }
}
