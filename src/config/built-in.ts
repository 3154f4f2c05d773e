/** The settings where no file says otherwise. */
export const builtIn = {
  minimumUid: 1000,
  deadlineMs: 10_000,
  stateDir: '/var/lib/berth',
  /** Gone after a reboot, as all that it tells of. */
  runDir: '/run/berth',
  kubeCredentialCommand: '/usr/lib/berth/shell/kube-credential',
  adminKubeconfig: '/root/.kube/config',
  hookEnvFile: '/etc/ood/config/hook.env',
  clustersDir: '/etc/ood/config/clusters.d',
} as const;
