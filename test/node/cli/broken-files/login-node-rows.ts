import { credentialOfAlice, server } from './good-files.ts';
import type { Rows } from './kinds.ts';

const initLoginNode = 'berth init login-node --yes --dry-run --image localhost/x:1';
const asUser = 'runuser -u alice -- ';
const certify =
  'berth sshd certify --ca /root/ca --host-key /root/host.pub --principal login.example.org';
const execInfo = JSON.stringify({
  apiVersion: 'client.authentication.k8s.io/v1',
  spec: { cluster: { server } },
});
const kubeCredential = `${asUser}env HOME=/var/lib/alice KUBERNETES_EXEC_INFO='${execInfo}' shell/kube-credential`;
/** Its log goes to logger(1), and to nobody without syslog. */
const pamSession = `mount --bind /run/logger /usr/bin/logger
PAM_USER=alice PAM_SERVICE=sshd PAM_TYPE=open_session hooks/pam-session; status=$?
until [ -e /run/logged ]; do sleep 0.05; done; cat /run/logged; rm /run/logged; exit $status`;

/** Commands of a login node, and what users run. */
export const loginNodeRows: readonly Rows[] = [
  {
    file: '/root/auth.log',
    format: 'list',
    status: 74,
    commands: ['berth trace 4711.8812345 --file /root/auth.log'],
  },
  {
    file: '/etc/berth/ssh.yml',
    format: 'berth-yaml',
    commands: [
      'berth plan --ssh --user alice',
      'berth sshd new podman --port 332 --profile base',
      'berth subid plan --directories',
      'berth subid apply --directories',
      'berth images pull',
      'berth images check',
      'berth images gc',
      'berth reap',
      'berth render pages /root/pages',
    ],
  },
  {
    file: '/etc/berth/ssh.yml',
    format: 'berth-yaml',
    status: 0,
    commands: ['berth sessions list', 'berth sessions end --all'],
  },
  {
    file: '/etc/berth/ssh.yml',
    format: 'berth-yaml',
    status: 1,
    commands: ['berth sshd lint'],
  },
  {
    file: '/etc/berth/ssh.yml',
    format: 'berth-yaml',
    status: 255,
    commands: [`${asUser}shell/login`],
  },
  { file: '/etc/berth/ssh.yml', format: 'berth-yaml', commands: [pamSession] },
  {
    file: '/etc/berth/profiles/base.yml',
    format: 'berth-yaml',
    status: 255,
    // Users read its code; the file is in the log.
    goesOn: true,
    commands: [`${asUser}shell/login`],
  },
  {
    file: '/etc/berth/news/2026-11-26.md',
    format: 'text',
    commands: ['berth render pages /root/pages'],
  },
  {
    file: '/etc/ssh/berth/login.conf',
    format: 'text',
    commands: ['berth render pages /root/pages'],
  },
  { file: '/etc/berth/drain', format: 'text', status: 77, commands: ['berth node undrain'] },
  { file: '/etc/ssh/berth/login.conf', format: 'text', status: 0, commands: ['berth sshd list'] },
  { file: '/etc/ssh/berth/login.conf', format: 'text', status: 1, commands: ['berth sshd check'] },
  ...['/root/ca', '/root/ca.pub', '/root/host.pub'].flatMap((file): Rows[] => [
    { file, format: 'text', commands: [certify] },
    { file, format: 'key', status: file === '/root/ca.pub' ? 64 : 69, commands: [certify] },
  ]),
  { file: credentialOfAlice, format: 'text', status: 77, commands: [kubeCredential] },
  {
    file: '/root/auth.json',
    format: 'json',
    commands: ['berth images pull --auth-file /root/auth.json 127.0.0.1:1/x:1'],
  },
  ...['overlay-images/images.json', 'overlay-layers/layers.json'].flatMap((name): Rows[] => {
    const file = `/var/lib/berth-ssh/images/${name}`;
    const changes = ['berth images gc', 'berth images pull 127.0.0.1:1/x:1'];
    return [
      {
        file,
        format: 'json',
        status: 1,
        commands: ['berth images check', 'berth doctor --timeout 2s'],
      },
      { file, format: 'json', status: 74, commands: changes },
    ];
  }),
  {
    file: '/etc/berth/profiles/base.yml',
    format: 'berth-yaml',
    commands: [
      'berth plan --ssh --user alice',
      'berth sshd new podman --port 332 --profile base',
      'berth images pull',
      'berth images gc',
    ],
  },
  {
    file: '/etc/berth/profiles/base.yml',
    format: 'berth-yaml',
    status: 1,
    commands: ['berth images check'],
  },
  {
    file: '/etc/berth/profiles/base.yml',
    format: 'berth-yaml',
    status: 1,
    goesOn: true,
    commands: ['berth sshd lint'],
  },
  {
    file: '/etc/berth/profiles/base.yml',
    format: 'berth-yaml',
    status: 0,
    goesOn: true,
    commands: ['berth reap', 'berth sessions list'],
  },
  {
    file: '/root/users',
    format: 'list',
    commands: [
      'berth subid plan --users-from /root/users',
      'berth subid apply --users-from /root/users',
    ],
  },
  ...['/etc/berth/profiles/minimal.yml', '/etc/ssh/berth/login.conf', '/etc/pam.d/sshd'].map(
    (file): Rows => ({ file, format: 'text', commands: [initLoginNode] }),
  ),
  {
    file: '/root/sshd_config',
    format: 'text',
    commands: ['berth sshd lint --sshd-config /root/sshd_config'],
  },
  { file: '/root/pam', format: 'text', status: 1, commands: ['berth sshd lint --pam /root/pam'] },
  {
    file: '/root/image.tar',
    format: 'text',
    status: 69,
    commands: [
      'berth images pull --from-archive /root/image.tar',
      `${initLoginNode} --from-archive /root/image.tar`,
    ],
  },
];
