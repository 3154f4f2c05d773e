import type { SessionHost } from '../../../../src/sessions/request/session-host.ts';

/** A user of a site as it comes, over one connection. */
export const host: SessionHost = {
  user: {
    ...{ name: 'ada', uid: 5501, gid: 5502, groups: [5502, 7001] },
    ...{ home: '/home/ada', shell: '/bin/bash' },
  },
  runtimeDir: '/run/user/5501',
  storage: '/var/lib/berth-ssh',
  podman: {
    podman: '/usr/bin/podman',
    runtime: '/usr/bin/crun',
    nsenter: '/usr/bin/nsenter',
    init: '/usr/libexec/podman/catatonit',
    cgroupManager: 'systemd',
  },
  connection: '12.34',
};
