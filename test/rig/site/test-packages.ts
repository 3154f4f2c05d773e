/**
 * The Debian packages of all tests. `npm test` installs them before the tests: the root of a host in test/rig/systemd is an
 * overlay on the machine's, and on such a host dpkg refuses to work if a package of the machine is installed meanwhile.
 */
export const testPackages = [
  ...['openssh-server', 'openssh-client', 'openssh-sftp-server', 'dropbear-bin', 'putty-tools'],
  ...['python3-asyncssh', 'sshfs', 'rsync', 'git', 'gpg', 'gpg-agent', 'tmux', 'netcat-openbsd'],
  ...['xauth', 'xvfb', 'x11-utils', 'zsh', 'fish', 'bsdutils', 'man-db', 'groff-base'],
  ...['podman', 'crun', 'runc', 'catatonit', 'uidmap', 'slirp4netns', 'fuse-overlayfs', 'bindfs'],
  ...[
    'busybox-static',
    'rsyslog',
    'rsyslog-relp',
    'procps',
    'passwd',
    'util-linux',
    'patch',
    'openssl',
    'strace',
  ],
  ...['slapd', 'ldap-utils', 'libnss-ldapd', 'nslcd', 'slurm-wlm', 'munge', 'sudo'],
  ...['slurmdbd', 'mariadb-server-core', 'mariadb-client-core'],
  ...['haproxy', 'keepalived', 'iproute2', 'iptables', 'ipset', 'iputils-arping', 'socat', 'curl'],
  ...[
    'knot',
    'knot-dnsutils',
    'bind9',
    'bind9-dnsutils',
    'prometheus',
    'prometheus-node-exporter',
    'containernetworking-plugins',
  ],
  ...['apache2', 'apache2-utils', 'libapache2-mod-auth-openidc', 'docker-registry'],
  ...['nginx-light', 'chromium', 'fonts-dejavu-core'],
  ...['python3', 'python3-apt', 'python3-pip', 'ansible-core', 'gettext-base', 'ruby'],
  ...['gcc', 'libc6-dev', 'libseccomp-dev', 'pkg-config', 'clang-14', 'llvm-14', 'bpftool'],
  ...['lintian', 'rpm', 'rpmlint', 'checkpolicy', 'semodule-utils'],
];
