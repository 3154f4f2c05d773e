import {
  isShownVariable,
  type HookEnvSettings,
} from '../../../config/schema/hook-env/hook-env-settings.ts';
import type { HookEnv } from '../../../config/schema/hook-env/hook-env.ts';

/** A line of OSC's configuration, and what it is with Berth. */
export interface OscKey {
  readonly key: string;
  /** As in the file, for the variables of OSC's hooks; none of a secret, and none of the site's own variables. */
  readonly value: string;
  /** What Berth does with it. */
  readonly becomes: string;
  /** False if nothing of Berth corresponds. */
  readonly counterpart: boolean;
}

/**
 * Says of each variable of a site's hook.env what it becomes. Berth reads the file itself, so that no value has to be
 * copied.
 */
export function oscKeys(env: HookEnv, settings: HookEnvSettings): OscKey[] {
  return [...env.values].map(([key, value]) => {
    const isKnown = Object.hasOwn(known, key);
    const becomes = isKnown ? known[key]?.(settings, value) : undefined;
    return {
      key,
      value: value === '' || isShownVariable(key) ? value : '(not shown)',
      becomes:
        becomes ??
        (isKnown
          ? "nothing: Kubernetes 1.25 removed PodSecurityPolicy; Berth's admission policies take its place"
          : 'nothing: a variable of your own, which Berth does not read'),
      counterpart: becomes !== undefined,
    };
  });
}

const known: Readonly<
  Record<string, (settings: HookEnvSettings, value: string) => string | undefined>
> = {
  K8S_USERNAME_PREFIX: () =>
    "read as it is: part of the entry's name in kubeconfigs. The prefix that the API server adds is defaults.subject_prefix",
  NAMESPACE_PREFIX: (_settings, value) =>
    value === ''
      ? 'read as it is; clusters.d may set namespace_prefix'
      : 'read as it is; clusters.d must have the same namespace_prefix, which OnDemand itself uses. `.` and `@` in user names become `-`',
  NETWORK_POLICY_ALLOW_CIDR: () => 'read as it is; defaults.allow_cidrs takes several',
  IDP_ISSUER_URL: ({ issuer }, value) =>
    issuer === undefined || issuer === value
      ? 'read as it is'
      : `the issuer is ${issuer}: this is its token endpoint, which Berth accepts`,
  CLIENT_ID: () => 'read as it is',
  CLIENT_SECRET: () =>
    'read as it is, and no longer written to kubeconfigs of users: make a new one when all users have logged in once. Only root should be able to read hook.env (chmod 600)',
  IMAGE_PULL_SECRET: ({ pullSecret }) =>
    pullSecret === undefined ? 'no pull secret' : 'read as it is',
  REGISTRY_DOCKER_CONFIG_JSON: ({ pullSecret }) =>
    pullSecret === undefined ? 'not used without IMAGE_PULL_SECRET' : 'read as it is',
  USE_POD_SECURITY_POLICY: (_settings, value) =>
    value === 'true' ? undefined : 'nothing: Kubernetes 1.25 removed PodSecurityPolicy',
  USE_JOB_POD_REAPER: ({ jobPodReaper }) =>
    jobPodReaper
      ? 'read as it is; `berth clusters reap` can replace job-pod-reaper'
      : 'read as it is',
};
