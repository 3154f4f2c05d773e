import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { conformance, startHost } from '../../conformance/define-tests.ts';

/** Packages that the session image has, and that plain sshd needs on the machine. */
const packages = [
  ...['git', 'tmux', 'rsync', 'python3', 'netcat-openbsd', 'xauth', 'x11-utils'],
  ...['openssh-client', 'openssh-sftp-server'],
];

conformance('a plain sshd', {
  start: async () => {
    await ensurePackages(packages);
    return startHost({ mode: 'plain', users: { ada: [], bob: [] } });
  },
  users: { ada: 'a session of sshd', bob: 'a session of sshd' },
});
