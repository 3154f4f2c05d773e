import type { Rows } from './kinds.ts';

const doctor = 'berth doctor --timeout 2s';

/** `berth doctor` reads what others do, and says of each file what is wrong. */
export const doctorRows: readonly Rows[] = [
  {
    file: '/etc/ood/config/apps/dashboard/env',
    format: 'text',
    status: 1,
    commands: [doctor],
  },
  ...['berth.yml', 'ssh.yml', 'profiles/base.yml', 'admission.yml', 'balancer.yml'].map(
    (name): Rows => ({
      file: `/etc/berth/${name}`,
      format: 'berth-yaml',
      status: 1,
      commands: [doctor],
    }),
  ),
  {
    file: '/etc/ood/config/nginx_stage.yml',
    format: 'ood-yaml',
    status: 1,
    goesOn: true,
    commands: [doctor],
  },
  ...['clusters.d/prod.yml', 'ood_portal.yml'].map((name): Rows => ({
    file: `/etc/ood/config/${name}`,
    format: 'ood-yaml',
    status: 1,
    commands: [doctor],
  })),
  ...['/etc/berth/idp.pem', '/etc/berth/client-secret', '/etc/berth/clusters/prod.pem'].map(
    (file): Rows => ({ file, format: 'text', status: 1, commands: [doctor] }),
  ),
  {
    file: '/etc/ood/config/hook.env',
    format: 'env',
    status: 1,
    commands: [doctor],
  },
  {
    file: '/root/.kube/config',
    format: 'kubeconfig',
    status: 1,
    commands: [doctor],
  },
];
