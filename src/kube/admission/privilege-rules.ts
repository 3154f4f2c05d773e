import type { AdmissionParameters } from '../../config/schema/admission-parameters.ts';
import {
  whenAbsent,
  type PodForm,
  celList,
  containerRule,
  podRule,
  celString,
  type Rule,
} from './policy-types.ts';

const no = `' must be false or absent'`;
const none = `' must be absent'`;

/** Probes and hooks with which the kubelet connects to an address from the node's network. */
const askers = [
  ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((probe) => `c.?${probe}`),
  'c.?lifecycle.?postStart',
  'c.?lifecycle.?preStop',
];

/**
 * Variables with which container runtimes grant devices regardless of the scheduler: with
 * nvidia-container-runtime, `all` is every GPU of the node, and others are its InfiniBand and NVSwitch.
 * Device plugins set these after admission.
 */
const deviceVariables = [
  ...['NVIDIA', 'AMD', 'HABANA', 'ASCEND'].map((vendor) => `${vendor}_VISIBLE_DEVICES`),
  ...['GDS', 'MOFED', 'NVSWITCH', 'GDRCOPY', 'IMEX_CHANNELS'].map((what) => `NVIDIA_${what}`),
  ...['CONFIG', 'MONITOR'].map((what) => `NVIDIA_MIG_${what}_DEVICES`),
];

/** Each container may set it, as OnDemand's adapter does; its value has a separate rule. */
const eachSeccomp =
  "variables.containers.all(c, c.?securityContext.?seccompProfile.hasValue()) ? 'RuntimeDefault' : ''";

/** Whether a profile is the runtime's or one of the node's that the site lists: others are made for other programs. */
function confinedBy(profiles: readonly string[]): {
  readonly holds: (profile: string, absent: string) => string;
  readonly wanted: string;
} {
  const more =
    profiles.length === 0
      ? ''
      : `, or Localhost with one of these localhostProfile values: ${profiles.join(', ')}`;
  return {
    holds: (profile, absent) =>
      `(${profile}.?type.orValue(${absent}) == 'RuntimeDefault' || ${profile}.?type.orValue('') == 'Localhost' && ${profile}.?localhostProfile.orValue('') in ${celList(profiles)})`,
    wanted: celString(` must be RuntimeDefault${more}`),
  };
}

/** No access to the host, and no privilege escalation. */
export function privilegeRules(
  form: PodForm,
  { seccompProfiles, apparmorProfiles }: AdmissionParameters,
): Rule[] {
  const seccomp = confinedBy(seccompProfiles);
  const appArmor = confinedBy(apparmorProfiles);
  const own = (field: string): string => `c.?securityContext.?${field}`;
  const pod = (field: string): string => `variables.spec.?securityContext.?${field}`;
  return [
    ...['hostNetwork', 'hostPID', 'hostIPC'].map((field) =>
      podRule(field, `!variables.spec.?${field}.orValue(false)`, no),
    ),
    // In its own user namespace the pod has another UID on the host and on file servers.
    podRule(
      'hostUsers',
      'variables.spec.?hostUsers.orValue(true) == true',
      `' must be true or absent'`,
    ),
    podRule(
      'os.name',
      "variables.spec.?os.?name.orValue('linux') == 'linux'",
      `' must be linux or absent'`,
    ),
    containerRule('securityContext.privileged', `${own('privileged')}.orValue(false)`, no),
    containerRule(
      'securityContext.allowPrivilegeEscalation',
      `${own('allowPrivilegeEscalation')}.orValue(${whenAbsent(form, 'true', 'false')})`,
      `' must be false'`,
    ),
    containerRule(
      'securityContext.capabilities.add',
      `size(${own('capabilities')}.?add.orValue([])) > 0`,
      none,
    ),
    containerRule(
      'securityContext.capabilities.drop',
      `!('ALL' in ${own('capabilities')}.?drop.orValue([${whenAbsent(form, '', "'ALL'")}]))`,
      `' must be [ALL]'`,
    ),
    containerRule(
      'securityContext.procMount',
      `${own('procMount')}.orValue('Default') != 'Default'`,
      `' must be Default or absent'`,
    ),
    podRule(
      'securityContext.seccompProfile.type',
      seccomp.holds(pod('seccompProfile'), whenAbsent(form, eachSeccomp, "'RuntimeDefault'")),
      seccomp.wanted,
    ),
    containerRule(
      'securityContext.seccompProfile.type',
      `!${seccomp.holds(own('seccompProfile'), "'RuntimeDefault'")}`,
      seccomp.wanted,
    ),
    podRule(
      'securityContext.appArmorProfile.type',
      appArmor.holds(pod('appArmorProfile'), "'RuntimeDefault'"),
      appArmor.wanted,
    ),
    containerRule(
      'securityContext.appArmorProfile.type',
      `!${appArmor.holds(own('appArmorProfile'), "'RuntimeDefault'")}`,
      appArmor.wanted,
    ),
    ...['seLinuxOptions', 'windowsOptions'].flatMap((field) => [
      podRule(`securityContext.${field}`, `!${pod(field)}.hasValue()`, none),
      containerRule(`securityContext.${field}`, `${own(field)}.hasValue()`, none),
    ]),
    podRule('securityContext.sysctls', `size(${pod('sysctls')}.orValue([])) == 0`, none),
    containerRule(
      'ports.hostPort',
      'c.?ports.orValue([]).exists(p, p.?hostPort.orValue(0) != 0)',
      none,
    ),
    containerRule(
      'env',
      `c.?env.orValue([]).exists(e, e.name in ${celList(deviceVariables)} && !(e.?value.orValue('') in ['void', 'none']))`,
      celString(
        ` must not request devices from the container runtime (${deviceVariables[0] ?? ''} and similar variables; only the values void and none are allowed): request them in resources.limits`,
      ),
    ),
    containerRule(
      'httpGet.host or tcpSocket.host',
      askers
        .flatMap((asker) => ['httpGet', 'tcpSocket'].map((how) => `${asker}.?${how}.?host`))
        .map((host) => `${host}.orValue('') != ''`)
        .join(' || '),
      `' must be absent: probes and lifecycle hooks may only connect to the pod itself'`,
    ),
  ];
}
