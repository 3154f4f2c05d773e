/** The names that OSC's hooks, OnDemand's adapter and OSC's reapers agree on. */

/** Marks a namespace as made by the hook; policies and reapers of a site select by it. */
export const namespaceLabel = { key: 'app.kubernetes.io/name', value: 'open-ondemand' } as const;

export const annotations = {
  /** Epoch seconds as a string; OSC's k8-namespace-reaper reads it. */
  lastHookExecution: 'openondemand.org/last-hook-execution',
  /** The user for whom the namespace was made: decides when two names meet in one namespace. */
  owner: 'openondemand.org/owner',
  uid: 'openondemand.org/uid',
  gid: 'openondemand.org/gid',
  /** All groups, comma separated, ascending. */
  groups: 'openondemand.org/groups',
} as const;

/** Of a pod: the longest that it may live, as Go prints a duration; OSC's job-pod-reaper ends it then. */
export const lifetimeAnnotation = 'pod.kubernetes.io/lifetime';

export const networkPolicyName = 'deny-from-other-namespaces';
export const defaultServiceAccount = 'default';

/** As which a user's SSH sessions make pods and run in them. */
export const sessionServiceAccount = 'berth-session';

/** ClusterRoles that `etc/kubernetes` installs and the hook may only bind. */
export const clusterRoles = {
  initializer: 'ood-initializer',
  user: 'ood-user',
  jobPodReaper: 'job-pod-reaper',
  session: 'berth-session',
} as const;

/** Raw user name: RBAC object names may hold `.` and `@`, a namespace's may not. */
export const roleBindingNames = {
  initializer: (user: string): string => `${user}-ood-initializer`,
  user: (user: string): string => `${user}-ood-user`,
  jobPodReaper: (user: string): string => `${user}-job-pod-reaper-rolebinding`,
  session: (user: string): string => `${user}-berth-session`,
} as const;

/** The site's ResourceQuota and LimitRange. */
export const limitsName = 'ondemand';
