import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installDirectory, type Portal } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { runAsRoot } from '../../../rig/login-node/refused-login.ts';
import {
  abortFuse,
  holdDirectory,
  showFuseConnections,
} from '../../../rig/login-node/fuse-connections.ts';
import { podPortal } from '../../../rig/login-node/pod-host.ts';

const profile = { backend: 'pod', image: 'localhost/none:1', lifetime: 'connection' };

/** One API server under two names: for the hook that is two clusters. */
describe('a login on a node with pods of two clusters', () => {
  let site: Site;
  let portal: Portal;
  let host: SshHost;
  beforeAll(async () => {
    site = await openSite();
    portal = await podPortal(site, { prod: {}, lab: { namespace_prefix: 'u-lab-' } });
    host = await SshHost.start({
      ...{ mode: 'forced', images: false, users: { 'two-ada': [] } },
      etc: { 'berth/berth.yml': await readFile(portal.files.berth, 'utf8') },
      sshYml: { rules: [{ profile: 'lab', on_request: true }, { profile: 'base' }] },
      profiles: {
        base: { ...profile, pod: { cluster: 'prod' } },
        lab: { ...profile, pod: { cluster: 'lab' } },
      },
    });
  });
  afterAll(async () => {
    await host.stop();
    await portal.remove();
    await site.kubectl(['delete', 'namespace', 'u-two-ada', 'u-lab-two-ada', '--wait=false']);
  });

  const hook = `/run/sshd-session -c 'env -i PAM_TYPE=open_session PAM_USER=two-ada PAM_SERVICE=sshd PAM_RHOST=h ${installDirectory}/hooks/pam-session open; exit $?'`;
  const places = (): readonly [kept: string, given: string] => {
    const { uid } = host.account('two-ada');
    return [`/run/berth/pods/${uid}`, `/run/user/${uid}/berth-pods`];
  };

  it('has a grant for both, stored by root and handed over to the user, with the right owners', async () => {
    const [kept, given] = places();
    // What a user keeps there makes the steps that are done as the user longer.
    await runAsRoot(
      host,
      `install -d -m 700 -o two-ada ${given}; cd ${given}; seq 5000 | xargs touch`,
    );
    // The hook's parent must be sshd.
    await runAsRoot(host, 'cp /bin/bash /run/sshd-session');
    for (let turn = 0; turn < 15; turn += 1) {
      await runAsRoot(host, `rm -rf ${kept} ${given}/*.json ${given}/*.refused; ${hook}`);
      const owners = await runAsRoot(host, `stat -c '%U %a %n' ${kept}/* ${given}/*.*`);
      expect(owners.trim().split('\n').sort(), await host.log()).toEqual(
        [
          ...['lab', 'prod'].map((name) => `root 600 ${kept}/${name}.json`),
          ...['lab', 'prod'].map((name) => `two-ada 600 ${given}/${name}.json`),
        ].sort(),
      );
    }
    expect(await host.log()).not.toContain('level=error');
  });

  it('leaves one process of root behind where its user keeps the directory, however often', async () => {
    const [kept, given] = places();
    await showFuseConnections(host);
    await holdDirectory(host, 'two-ada', given);
    await runAsRoot(
      host,
      `rm -r ${kept}; for login in 1 2 3; do setsid ${hook} >/dev/null 2>&1 & done`,
    );
    const refused = async (): Promise<number> =>
      (await host.log()).match(/user=two-ada .*code=lock-timeout/g)?.length ?? 0;
    await expect.poll(refused).toBeGreaterThan(1);
    const waiting = `pgrep -fc '^[^ ]+/node .*/hooks/pam-session open$' || true`;
    await expect.poll(() => runAsRoot(host, waiting)).toBe('1\n');
    await abortFuse(host, 'two-ada');
    await expect.poll(() => runAsRoot(host, waiting)).toBe('0\n');
  });
});
