/** The default settings. */
export const defaultSettings = {
  minimumUid: 1000,
  deadlineMs: 10_000,
  stateDir: '/var/lib/berth',
  kubeCredentialCommand: '/usr/lib/berth/shell/kube-credential',
  adminKubeconfig: '/root/.kube/config',
  hookEnvFile: '/etc/ood/config/hook.env',
  /** The other name in OnDemand's documentation. It is read where there is no hook.env. */
  otherHookEnvFile: '/etc/ood/config/hooks.env',
  clustersDir: '/etc/ood/config/clusters.d',
} as const;

/** Berth's own file for a portal; every command and hook reads another one if it is told so. */
export const defaultConfigFile = '/etc/berth/berth.yml';

/** Berth's runtime directory. It is not configurable, because the systemd units and PAM's configuration name it too. */
export const runDir = '/run/berth';

/** While it exists, `berth-sshd@.service`, which names it, does not start. */
export const drainFile = '/etc/berth/drain';

/** `NAME.conf` for each berth-sshd@NAME.service, which names it. */
export const kindsDirectory = '/etc/ssh/berth';
