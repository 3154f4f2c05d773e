/** The names that OSC's hooks, OnDemand's adapter and OSC's reapers agree on, and Berth's own. */

/** Marks a namespace as made by the hook; policies and reapers of a site select by it. */
export const namespaceLabel = { key: 'app.kubernetes.io/name', value: 'open-ondemand' } as const;

export const annotations = {
  /** Epoch seconds as a string, read by OSC's k8-namespace-reaper. */
  lastHookExecution: 'openondemand.org/last-hook-execution',
  /** The user for whom the namespace was made; two user names can map to one namespace. */
  owner: 'openondemand.org/owner',
  uid: 'openondemand.org/uid',
  gid: 'openondemand.org/gid',
  /** All groups, comma separated, ascending. */
  groups: 'openondemand.org/groups',
} as const;

/** Annotation of a pod: its maximum age as a Go duration, after which OSC's job-pod-reaper deletes it. */
export const lifetimeAnnotation = 'pod.kubernetes.io/lifetime';

export const networkPolicyName = 'deny-from-other-namespaces';
export const defaultServiceAccount = 'default';

/** ServiceAccount that makes the pods of a user's SSH sessions. */
export const sessionServiceAccount = 'berth-session';

/** ClusterRoles of `etc/kubernetes`, which the hook may bind. */
export const clusterRoles = {
  initializer: 'ood-initializer',
  user: 'ood-user',
  jobPodReaper: 'job-pod-reaper',
  session: 'berth-session',
  jupyterhub: 'berth-jupyterhub',
} as const;

/** With the user name unchanged: names of RBAC objects may contain `.` and `@`. */
export const roleBindingNames = {
  initializer: (user: string): string => `${user}-ood-initializer`,
  user: (user: string): string => `${user}-ood-user`,
  jobPodReaper: (user: string): string => `${user}-job-pod-reaper-rolebinding`,
  session: (user: string): string => `${user}-berth-session`,
  jupyterhub: (user: string): string => `${user}-berth-jupyterhub`,
  /** One for each of `user_roles`; with an empty role, the beginning of their names. */
  extra: (user: string, role: string): string => `${user}-berth-role-${role}`,
} as const;

/** Label of the claims that the hook makes from `volume_claims`, which `berth clusters reap` never deletes. */
export const userVolumeLabel = 'berth.dev/user-volume';

/** The site's ResourceQuota and LimitRange. */
export const quotaAndLimitRangeName = 'ondemand';
