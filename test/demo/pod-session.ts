import { ensureNode } from '../rig/site/node/node.ts';
import type { Site } from '../rig/site/site.ts';
import { waitFor } from '../rig/site/wait.ts';
import { startPodHost } from '../rig/node/pod-host.ts';
import { ended } from './expect-exit-code.ts';
import { kubectlOf, namespaceOf } from './users.ts';
import type { Story } from './story.ts';

const person = 'alice';
const policies = 'etc/kubernetes/admission';

/** The same user by `ssh` once more, on the cluster; and what nobody gets there, whatever is asked for. */
export async function podSession(story: Story, site: Site): Promise<void> {
  story.step(`The same ${person} with ssh, in a pod of the cluster`);
  const image = await (await ensureNode(site)).image('site');
  const pods = await startPodHost(site, {
    mode: 'forced',
    users: { [person]: ['projects'] },
    profile: { lifetime: 'user' },
  });
  try {
    story.say('The same line, the same numbers; only the profile says `backend: pod`:');
    for (const command of ['id', 'id; hostname']) {
      story.command(person, `ssh login '${command}'`);
      const started = performance.now();
      const { exitCode, stdout, stderr } = await pods.host.ssh(person, [command]);
      if (exitCode !== 0) throw new Error(`it ended with ${String(exitCode)}: ${stderr}`);
      const took = Math.round(performance.now() - started);
      story.output(`${stdout.toString().trimEnd()}\n(${took} ms)`);
    }
  } finally {
    await pods.stop();
  }
  story.say('Nobody is anybody else there. The policies that hold every pod to its namespace:');
  story.command('root', `kubectl apply -k ${policies}`);
  ended('kubectl', 0, await site.kubectl(['apply', '-k', policies]));
  try {
    story.say(`${person} asks with her own kubectl for a pod that runs as somebody else:`);
    const hostile = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'hostile', namespace: namespaceOf(person) },
      spec: { containers: [{ name: 'c', image, securityContext: { runAsUser: 0 } }] },
    };
    const create = (...more: string[]) =>
      kubectlOf(person, site, ['create', ...more, '-f', '-'], JSON.stringify(hostile));
    // The API server reads new policies about once a second.
    await waitFor({ what: 'the policies to bite', timeoutMs: 30_000 }, async () =>
      (await create('--dry-run=server')).exitCode === 0 ? undefined : true,
    );
    story.command(person, 'kubectl create -f runs-as-root.yaml');
    const refused = await create();
    story.output(ended('kubectl', 1, refused).stderr.trim());
  } finally {
    await site.kubectl(['delete', '-k', policies, '--ignore-not-found']);
  }
}
