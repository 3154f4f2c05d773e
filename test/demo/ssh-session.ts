import { join } from 'node:path';
import { installDirectory } from '../rig/site/portal.ts';
import { SshHost } from '../rig/login-node/ssh-host.ts';
import type { ClientResult } from '../../src/companions/verify/run-client.ts';
import type { Story } from './story.ts';

const person = 'alice';

/** Shows an SSH session in a container of the site's image, with the same UID and GIDs as on the host. */
export async function sshSession(story: Story): Promise<void> {
  story.step(`${person} logs in with ssh to a container of the site's image`);
  const host = await SshHost.start({
    mode: 'forced',
    users: { [person]: ['projects'] },
    profiles: {
      base: { image: 'localhost/berth-site:1', lifetime: 'user', mounts: [{ source: '$HOME' }] },
    },
  });
  try {
    story.say('What the next session on the login node will be:');
    story.command('root', `berth plan --ssh --user ${person} --command id`);
    const plan = ['plan', '--ssh', '--user', person, '--command', 'id'];
    const planned = stdoutOf(await host.asRoot([join(installDirectory, 'berth'), ...plan]));
    story.output(planned.split('\n').slice(0, 6).join('\n'));
    story.say('Keep the GIDs of her supplementary groups in the container:');
    const subid = ['subid', 'apply', '--groups', person];
    story.command('root', `berth ${subid.join(' ')}`);
    story.output(stdoutOf(await host.asRoot([join(installDirectory, 'berth'), ...subid])));
    story.say('Her UID and GIDs on the host and in the container:');
    story.command('root', `id ${person}`);
    story.output(stdoutOf(await host.asRoot(['id', person])));
    for (const command of ['id', 'id; cat /proc/1/comm; hostname']) {
      story.command(person, `ssh login '${command}'`);
      const started = performance.now();
      const stdout = stdoutOf(await host.ssh(person, [command]));
      story.output(`${stdout.trimEnd()}\n(${Math.round(performance.now() - started)} ms)`);
    }
    story.say('The first command started her container, the second one ran in the same container.');
  } finally {
    await host.stop();
  }
}

function stdoutOf({ exitCode, stdout, stderr }: ClientResult): string {
  if (exitCode !== 0) throw new Error(`the command exited with ${String(exitCode)}: ${stderr}`);
  return stdout.toString();
}
