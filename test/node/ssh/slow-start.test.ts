import { afterAll, beforeAll, expect, it } from 'vitest';
import { SshHost, standardProfile, standardSshYml } from '../../rig/login-node/ssh-host.ts';

/** Stops the container's first process while the runtime starts it, and lets it go on a second later. */
const slowRuntime = `#!/bin/bash
runtime=/usr/bin/crun
for word; do
  if [ "$word" = start ]; then
    pid=$($runtime "\${@//start/state}" | sed -n 's/.*"pid": *\\([0-9]*\\).*/\\1/p')
    kill -STOP "$pid"
    (sleep 1; kill -CONT "$pid") >/dev/null 2>&1 &
  fi
done
exec $runtime "$@"
`;

let host: SshHost;
beforeAll(async () => {
  const { podman } = standardSshYml;
  host = await SshHost.start({
    mode: 'forced',
    sshYml: {
      rules: [{ users: ['ada'], profile: 'base' }],
      podman: { ...podman, runtime: '/etc/berth/slow/crun' },
    },
    profiles: { base: standardProfile },
    etc: { 'berth/slow/crun': slowRuntime },
  });
  await host.asRoot(['chmod', '755', '/etc/berth/slow/crun']);
});
afterAll(() => host.stop());

it('a session waits until the first process of its new container has left the runtime', async () => {
  const { exitCode, stdout, stderr } = await host.ssh('ada', ['env; cat /proc/1/comm']);
  expect([exitCode, stderr], await host.log()).toEqual([0, '']);
  expect(stdout.toString()).toMatch(/podman-init\n$/);
  // The runtime's own environment has variables of podman.
  expect(stdout.toString()).not.toMatch(/^(?:_CONTAINERS|CONTAINERS_|PIDFILE)/m);
});
