import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CheckResult } from '../../../src/system/errors/check-result.ts';
import { berthDocument } from '../../rig/berth-document.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

let host: SshHost;
beforeAll(async () => {
  host = await SshHost.start({
    mode: 'forced',
    users: { ada: [] },
    profiles: { base: sharedProfile },
  });
});
afterAll(() => host.stop());

async function terminals(): Promise<CheckResult | undefined> {
  const words = [join(installDirectory, 'berth'), 'doctor', '-o', 'json'];
  const { stdout } = await host.asRoot(words, { timeout: 60_000 });
  const { checks } = berthDocument(stdout.toString()) as { checks: readonly CheckResult[] };
  return checks.find(({ id }) => id === 'terminals');
}

/** Opens so many, in two instances of devpts: the container's, and one in a user namespace of the session's own. */
const take = `use Fcntl; my $all = 0;
  for my $at (@ARGV) { for (1 .. 1200) { sysopen(my $one, "$at/ptmx", O_RDWR | O_NOCTTY) or die "$at: $!"; push @kept, $one; $all++ } }
  $| = 1; print "taken $all\\n"; sleep 900;`;

it('berth doctor warns while one session has most pseudo-terminals, and says how to see whose', async () => {
  expect(await terminals()).toMatchObject({
    status: 'ok',
    message: expect.stringMatching(/^\d+ of 3072 /) as string,
  });
  const script = `ulimit -n $(ulimit -Hn); mkdir /tmp/pts; mount -t devpts -o newinstance,ptmxmode=0666 devpts /tmp/pts
    exec perl -e '${take}' /dev/pts /tmp/pts`;
  await host.asUser('ada', ['sh', '-c', 'cat >take'], { input: script });
  const session = await LiveSession.startReady(host, 'ada', 'exec unshare -Urm sh ~/take');
  await session.waitForOutput('taken 2400');

  const found = await terminals();
  expect(found).toMatchObject({
    status: 'warning',
    message: expect.stringMatching(/^2[4-9]\d\d of 3072 /) as string,
  });
  const [, look = ''] = /whose: (.*uniq -c)\./.exec(found?.next ?? '') ?? [];
  const seen = await host.asRoot(['sh', '-c', look]);
  expect(seen.stdout.toString()).toMatch(/^ *24\d\d ada$/m);

  await session.kill();
  await expect.poll(terminals).toMatchObject({ status: 'ok' });
}, 120_000);
