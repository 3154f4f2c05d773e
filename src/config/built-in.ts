/** The settings where no file says otherwise. */
export const builtIn = {
  minimumUid: 1000,
  deadlineMs: 10_000,
  stateDir: '/var/lib/berth',
  kubeCredentialCommand: '/usr/lib/berth/shell/kube-credential',
  adminKubeconfig: '/root/.kube/config',
  hookEnvFile: '/etc/ood/config/hook.env',
  clustersDir: '/etc/ood/config/clusters.d',
} as const;

/** Berth's folder for what is true until the next boot. No setting: tmpfiles.d, units and PAM know it too. */
export const runDir = '/run/berth';
