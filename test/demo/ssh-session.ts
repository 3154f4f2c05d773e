import { join } from 'node:path';
import { installed } from '../rig/site/portal.ts';
import { SshHost } from '../rig/node/ssh-host.ts';
import type { ClientResult } from '../rig/node/client.ts';
import type { Story } from './story.ts';

const person = 'alice';

/** The same user by `ssh`: inside the site's image, with the same numbers as outside. */
export async function sshSession(story: Story): Promise<void> {
  story.step(`${person} comes with ssh, and works inside the site's image`);
  const host = await SshHost.start({
    mode: 'forced',
    users: { [person]: ['projects'] },
    profiles: {
      base: { image: 'localhost/berth-site:1', lifetime: 'user', mounts: [{ source: '$HOME' }] },
    },
  });
  try {
    story.say('A login node with a real sshd; what it would do, before it does it:');
    story.command('root', `berth plan --ssh --user ${person} --command id`);
    const plan = ['plan', '--ssh', '--user', person, '--command', 'id'];
    const planned = ended(await host.inside([join(installed, 'berth'), ...plan]));
    story.output(planned.split('\n').slice(0, 6).join('\n'));
    story.say('Her groups get to keep their numbers inside:');
    const subid = ['subid', 'apply', '--groups', person];
    story.command('root', `berth ${subid.join(' ')}`);
    story.output(ended(await host.inside([join(installed, 'berth'), ...subid])));
    story.say('Who she is on the host, and inside:');
    story.command('root', `id ${person}`);
    story.output(ended(await host.inside(['id', person])));
    for (const command of ['id', 'id; cat /proc/1/comm; hostname']) {
      story.command(person, `ssh login '${command}'`);
      const started = performance.now();
      const said = ended(await host.ssh(person, [command]));
      story.output(`${said.trimEnd()}\n(${Math.round(performance.now() - started)} ms)`);
    }
    story.say('The first of the two started her container, the second joined it.');
  } finally {
    await host.stop();
  }
}

function ended({ exitCode, stdout, stderr }: ClientResult): string {
  if (exitCode !== 0) throw new Error(`it ended with ${String(exitCode)}: ${stderr}`);
  return stdout.toString();
}
