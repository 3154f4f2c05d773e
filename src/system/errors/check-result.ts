import type { BerthError } from './berth-error.ts';

/** The checks of `berth doctor`, as it prints them; docs/checks.md explains each. */
export const checkIds = [
  'node',
  'config',
  'config-dir',
  'config-warning',
  'clusters',
  'admission-config',
  'balancer-config',
  'state-dir',
  'kube-credential',
  'broker-units',
  'portal-hook',
  'portal-sandbox',
  'portal-tokens',
  'portal-session-cookie',
  'portal-exports',
  'portal-refresh',
  'issuer',
  'issuer-audience',
  'issuer-client',
  'issuer-clock',
  'issuer-exchange',
  'user',
  'user-home',
  'user-kubeconfig',
  'user-token',
  'cluster-config',
  'admin-kubeconfig-mode',
  'docker-config-mode',
  'cluster-ca',
  'admin-credentials',
  'admin-token',
  'api',
  'api-certificate',
  'api-clock',
  'api-version',
  'names',
  'rights',
  'excess-rights',
  'cluster-roles',
  'objects',
  'object-counts',
  'guard',
  'admission',
  'ssh-sessions',
  'user-namespace',
  'cluster-api-oidc',
  'ondemand-keys',
  'ondemand-kubectl',
  'ondemand-mounts',
  'ssh-config',
  'ssh-profile',
  'ssh-rules',
  'ssh-pods',
  'ssh-pod-admission',
  'ssh-slurm',
  'ssh-slurm-job',
  'ssh-mounts',
  'sshd',
  'pam-session',
  'user-manager',
  'fuse',
  'syslog',
  'podman',
  'podman-runtime',
  'newuidmap',
  'subid-files',
  'cgroups',
  'cgroup-delegation',
  'terminals',
  'devices',
  'podman-network',
  'transfer-files',
  'storage',
  'storage-file-system',
  'image',
  'image-profile',
  'user-access',
  'user-profile',
  'user-subids',
  'user-runtime-directory',
  'user-storage',
  'session-start',
] as const;

export type CheckId = (typeof checkIds)[number];

export type CheckStatus = 'ok' | 'warning' | 'failed' | 'skipped';

/** The result of a check. Monitoring may rely on `id` and `status`. */
export interface CheckResult {
  readonly id: CheckId;
  /** Name of the cluster in OnDemand, for a check of a cluster. */
  readonly cluster?: string;
  readonly status: CheckStatus;
  readonly message: string;
  /** What to do; present with each warning and failure. */
  readonly next?: string;
}

/** What a check returns: its result without `id` and `cluster`. */
export type Finding =
  | { readonly status: 'ok' | 'skipped'; readonly message: string }
  | { readonly status: 'warning' | 'failed'; readonly message: string; readonly next: string };

export const ok = (message: string): Finding => ({ status: 'ok', message });
export const skipped = (message: string): Finding => ({ status: 'skipped', message });
export const warning = (message: string, next: string): Finding => ({
  status: 'warning',
  message,
  next,
});
export const failed = (message: string, next: string): Finding => ({
  status: 'failed',
  message,
  next,
});

/** An error as a failed finding, with the hint as next step. */
export function failedWith({ message, hint }: Pick<BerthError, 'message' | 'hint'>): Finding {
  return failed(message, hint);
}
