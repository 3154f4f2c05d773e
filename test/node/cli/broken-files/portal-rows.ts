import type { Rows } from './kinds.ts';

const initClusterNow =
  'berth init cluster --yes --name prod --kubeconfig /root/admin.kubeconfig --apply no';
const initCluster = `${initClusterNow} --dry-run`;
const discover = 'berth clusters discover --kubeconfig /root/admin.kubeconfig';
const tokenSetup = 'berth token setup --cluster prod --from /root/admin.kubeconfig';
const plan = 'berth plan --user alice';
const render = 'berth render --user alice';
const hook = 'hooks/pre-pun --user alice';
const bootstrap = 'hooks/k8s-bootstrap alice /etc/ood/config/hook.env';
const credentials = 'hooks/set-k8s-creds alice /etc/ood/config/hook.env';
const broker = 'echo "{}" | hooks/credential-broker';
const ofSite = [
  ...[plan, render, tokenSetup, hook, `${hook} --dry-run`],
  ...[
    'berth token rotate --config /etc/berth/berth.yml',
    'berth clusters reap --cluster prod',
    'berth sessions list -A',
  ],
];

/** Those that read hook.env where OnDemand has it. */
export const hookEnvCommands = [
  ...[...ofSite, initCluster, discover, 'berth init portal --yes --dry-run'],
  'berth doctor --timeout 2s',
];

/** Commands of a portal, and its hooks. */
export const portalRows: readonly Rows[] = [
  {
    file: '/etc/berth/berth.yml',
    format: 'berth-yaml',
    commands: [
      ...ofSite,
      initCluster,
      discover,
      'berth ldap-sync',
      'berth slurm-sync --dry-run',
      'berth init portal --yes --dry-run',
      ...[bootstrap, credentials, broker],
      ...['berth init portal --yes', initClusterNow],
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
      'berth init portal --yes --from-osc /etc/ood/config/hook.env',
      ...[bootstrap, credentials, broker, initClusterNow],
    ],
  },
  {
    file: '/etc/ood/config/clusters.d/prod.yml',
    format: 'ood-yaml',
    commands: [...ofSite, bootstrap, credentials],
  },
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
    commands: ['berth init portal --yes --dry-run', 'berth init portal --yes'],
  },
  {
    file: '/etc/berth/idp.pem',
    format: 'text',
    commands: [credentials],
  },
  { file: '/etc/berth/client-secret', format: 'text', commands: [plan, hook, credentials] },
  {
    file: '/root/docker-config.json',
    format: 'json',
    commands: [plan, hook, bootstrap, `set -o pipefail; ${render} --show-secrets | cat`],
  },
  {
    file: '/root/.kube/config',
    format: 'kubeconfig',
    commands: [
      ...[plan, hook, bootstrap],
      'berth token rotate',
      'berth clusters reap --cluster prod',
      'berth sessions list -A',
      'berth token rotate --kubeconfig /root/.kube/config',
    ],
  },
  {
    file: '/root/admin.kubeconfig',
    format: 'kubeconfig',
    commands: [initCluster, initClusterNow, discover, tokenSetup],
  },
  ...['/root/kube-ca.pem', '/root/token'].map((file): Rows => ({
    file,
    format: 'text',
    commands: [initCluster, initClusterNow, discover, tokenSetup],
  })),
  ...['/etc/berth/ldap.pem', '/etc/berth/ldap-password'].map((file): Rows => ({
    file,
    format: 'text',
    commands: ['berth ldap-sync', 'berth slurm-sync --dry-run'],
  })),
  {
    file: '/etc/berth/admission.yml',
    format: 'berth-yaml',
    commands: [
      'berth render policies --parameters /etc/berth/admission.yml',
      'berth render policies',
    ],
  },
  {
    file: '/etc/berth/balancer.yml',
    format: 'berth-yaml',
    commands: [
      'berth render balancer',
      'berth render balancer --for kubernetes --list /etc/berth/balancer.yml',
      'berth render balancer --write /root/haproxy.cfg',
      'berth render pages /root/pages',
    ],
  },
];
