import type { Format } from './kinds.ts';

/** Commands that read a file, and what comes of it if the file is broken. */
export interface Rows {
  readonly file: string;
  readonly format: Format;
  /** Exit status; default 78, the configuration is wrong. */
  readonly status?: number;
  /** The command goes on without the file, and need not name it. */
  readonly goesOn?: true;
  readonly commands: readonly string[];
}

const initCluster =
  'berth init cluster --yes --dry-run --name prod --kubeconfig /root/admin.kubeconfig --apply no';
const initLoginNode = 'berth init login-node --yes --dry-run --image localhost/x:1';
const discover = 'berth clusters discover --kubeconfig /root/admin.kubeconfig';
const tokenSetup = 'berth token setup --cluster prod --from /root/admin.kubeconfig';
const renderSite = 'berth render --site /root/site --image r.example.org/berth:1';
const plan = 'berth plan --user alice';
const render = 'berth render --user alice';
const hook = 'hooks/pre-pun --user alice';
const asUser = 'runuser -u alice -- ';
const ofSite = [
  ...[plan, render, renderSite, tokenSetup, hook, `${hook} --dry-run`],
  ...['berth token rotate', 'berth reap --cluster prod', 'berth sessions list -A'],
];

/** Those that read hook.env where OnDemand has it. */
export const hookEnvCommands = [
  ...[...ofSite, initCluster, discover, 'berth init portal --yes --dry-run'],
  'berth doctor --timeout 2s',
];

export const rows: readonly Rows[] = [
  {
    file: '/etc/berth/berth.yml',
    format: 'berth-yaml',
    commands: [
      ...ofSite,
      initCluster,
      discover,
      'berth ldap-sync',
      'berth init portal --yes --dry-run',
      'hooks/k8s-bootstrap alice /etc/ood/config/hook.env',
      'hooks/set-k8s-creds alice /etc/ood/config/hook.env',
      'echo "{}" | hooks/credential-broker',
    ],
  },
  {
    file: '/etc/ood/config/hook.env',
    format: 'env',
    commands: [
      ...ofSite,
      initCluster,
      discover,
      'berth init portal --yes --dry-run --from-osc /etc/ood/config/hook.env',
    ],
  },
  { file: '/etc/ood/config/clusters.d/prod.yml', format: 'ood-yaml', commands: ofSite },
  {
    file: '/etc/ood/config/clusters.d/prod.yml',
    format: 'ood-yaml',
    goesOn: true,
    status: 0,
    commands: ['berth init portal --yes --dry-run'],
  },
  {
    file: '/etc/ood/config/ood_portal.yml',
    format: 'ood-yaml',
    commands: ['berth init portal --yes --dry-run'],
  },
  {
    file: '/etc/berth/idp.pem',
    format: 'text',
    commands: ['hooks/set-k8s-creds alice /etc/ood/config/hook.env'],
  },
  { file: '/etc/berth/client-secret', format: 'text', commands: [plan, hook] },
  {
    file: '/root/docker-config.json',
    format: 'json',
    commands: [plan, hook, `set -o pipefail; ${render} --show-secrets | cat`],
  },
  {
    file: '/root/.kube/config',
    format: 'kubeconfig',
    commands: [
      plan,
      hook,
      'berth token rotate',
      'berth reap --cluster prod',
      'berth sessions list -A',
      'berth token rotate --kubeconfig /root/.kube/config',
    ],
  },
  {
    file: '/root/admin.kubeconfig',
    format: 'kubeconfig',
    commands: [initCluster, discover, tokenSetup],
  },
  ...['/root/kube-ca.pem', '/root/token'].map((file): Rows => ({
    file,
    format: 'text',
    commands: [initCluster, discover, tokenSetup],
  })),
  ...['/etc/berth/ldap.pem', '/etc/berth/ldap-password'].map((file): Rows => ({
    file,
    format: 'text',
    commands: ['berth ldap-sync'],
  })),
  {
    file: '/etc/berth/admission.yml',
    format: 'berth-yaml',
    commands: ['berth render policies', `${renderSite} --components admission`],
  },
  {
    file: '/etc/berth/balancer.yml',
    format: 'berth-yaml',
    commands: [
      'berth render balancer',
      'berth render balancer --for kubernetes',
      'berth render balancer --write /root/haproxy.cfg',
    ],
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
    commands: ['berth lint sshd'],
  },
  {
    file: '/etc/berth/ssh.yml',
    format: 'berth-yaml',
    status: 255,
    commands: [`${asUser}shell/login`],
  },
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
    commands: ['berth lint sshd'],
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
    commands: ['berth lint sshd --config /root/sshd_config'],
  },
  {
    file: '/root/image.tar',
    format: 'text',
    status: 69,
    commands: [
      'berth images pull --from-archive /root/image.tar',
      `${initLoginNode} --from-archive /root/image.tar`,
    ],
  },
  ...['berth.yml', 'ssh.yml', 'profiles/base.yml', 'admission.yml', 'balancer.yml'].map(
    (name): Rows => ({
      file: `/etc/berth/${name}`,
      format: 'berth-yaml',
      status: 1,
      commands: ['berth doctor --timeout 2s'],
    }),
  ),
  {
    file: '/etc/ood/config/nginx_stage.yml',
    format: 'ood-yaml',
    status: 1,
    goesOn: true,
    commands: ['berth doctor --timeout 2s'],
  },
  ...['clusters.d/prod.yml', 'ood_portal.yml'].map((name): Rows => ({
    file: `/etc/ood/config/${name}`,
    format: 'ood-yaml',
    status: 1,
    commands: ['berth doctor --timeout 2s'],
  })),
  ...['/etc/berth/idp.pem', '/etc/berth/client-secret', '/etc/berth/clusters/prod.pem'].map(
    (file): Rows => ({ file, format: 'text', status: 1, commands: ['berth doctor --timeout 2s'] }),
  ),
  {
    file: '/etc/ood/config/hook.env',
    format: 'env',
    status: 1,
    commands: ['berth doctor --timeout 2s'],
  },
  {
    file: '/root/.kube/config',
    format: 'kubeconfig',
    status: 1,
    commands: ['berth doctor --timeout 2s'],
  },
];
