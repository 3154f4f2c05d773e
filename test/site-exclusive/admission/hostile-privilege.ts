import {
  absent,
  falseOrAbsent,
  podWith,
  secondContainer,
  sidecar,
  rowsOf,
  type HostileObject,
  type Row,
} from './hostile.ts';

const privilege: readonly Row[] = [
  ['the network of the node', 'spec.hostNetwork', falseOrAbsent, podWith({ hostNetwork: true })],
  ['the processes of the node', 'spec.hostPID', falseOrAbsent, podWith({ hostPID: true })],
  ['the shared memory of the node', 'spec.hostIPC', falseOrAbsent, podWith({ hostIPC: true })],
  [
    'a user namespace of its own',
    'spec.hostUsers',
    'must be true or absent',
    podWith({ hostUsers: false }),
  ],
  [
    'an unmasked /proc in a user namespace',
    'spec.hostUsers',
    'must be true or absent',
    podWith({ hostUsers: false }, { securityContext: { procMount: 'Unmasked' } }),
  ],
  [
    'a privileged container',
    'securityContext.privileged of container main',
    falseOrAbsent,
    podWith({}, { securityContext: { privileged: true } }),
  ],
  [
    'a privileged init container',
    'securityContext.privileged of container second',
    falseOrAbsent,
    podWith(secondContainer('initContainers', { securityContext: { privileged: true } })),
  ],
  [
    'a privileged sidecar',
    'securityContext.privileged of container second',
    falseOrAbsent,
    podWith(sidecar({ privileged: true })),
  ],
  [
    'programs with the setuid bit',
    'securityContext.allowPrivilegeEscalation of container main',
    'must be false',
    podWith({}, { securityContext: { allowPrivilegeEscalation: true } }),
  ],
  [
    'setuid in an init container',
    'securityContext.allowPrivilegeEscalation of container second',
    'must be false',
    podWith(
      secondContainer('initContainers', { securityContext: { allowPrivilegeEscalation: true } }),
    ),
  ],
  [
    'CAP_SYS_ADMIN',
    'securityContext.allowPrivilegeEscalation of container main',
    'must be false',
    podWith({}, { securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }),
  ],
  [
    'CAP_SETUID',
    'securityContext.capabilities.add of container main',
    absent,
    podWith({}, { securityContext: { capabilities: { add: ['SETUID'] } } }),
  ],
  [
    'CAP_DAC_READ_SEARCH in an init container',
    'securityContext.capabilities.add of container second',
    absent,
    podWith(
      secondContainer('initContainers', {
        securityContext: { capabilities: { add: ['DAC_READ_SEARCH'] } },
      }),
    ),
  ],
  [
    'CAP_NET_RAW in a sidecar',
    'securityContext.capabilities.add of container second',
    absent,
    podWith(sidecar({ capabilities: { add: ['NET_RAW'], drop: ['ALL'] } })),
  ],
  [
    'no seccomp in the pod',
    'spec.securityContext.seccompProfile.type',
    'must be RuntimeDefault',
    podWith({ securityContext: { seccompProfile: { type: 'Unconfined' } } }),
  ],
  [
    'no seccomp in a container',
    'securityContext.seccompProfile.type of container main',
    'must be RuntimeDefault',
    podWith({}, { securityContext: { seccompProfile: { type: 'Unconfined' } } }),
  ],
  [
    'no AppArmor in the pod',
    'spec.securityContext.appArmorProfile.type',
    'must be RuntimeDefault',
    podWith({ securityContext: { appArmorProfile: { type: 'Unconfined' } } }),
  ],
  [
    'no AppArmor in a container',
    'securityContext.appArmorProfile.type of container main',
    'must be RuntimeDefault',
    podWith({}, { securityContext: { appArmorProfile: { type: 'Unconfined' } } }),
  ],
  ...['podman', 'berth-tools-2', 'unconfined'].flatMap((localhostProfile): Row[] => {
    const appArmorProfile = { type: 'Localhost', localhostProfile };
    const seccompProfile = { type: 'Localhost', localhostProfile: `profiles/${localhostProfile}` };
    const wanted = 'must be RuntimeDefault, or Localhost with one of these localhostProfile values';
    return [
      [
        `the seccomp profile ${localhostProfile} in the pod`,
        'spec.securityContext.seccompProfile.type',
        wanted,
        podWith({ securityContext: { seccompProfile } }),
      ],
      [
        `the seccomp profile ${localhostProfile} in a container`,
        'securityContext.seccompProfile.type of container main',
        wanted,
        podWith({}, { securityContext: { seccompProfile } }),
      ],
      [
        `no AppArmor by the profile ${localhostProfile} in the pod`,
        'spec.securityContext.appArmorProfile.type',
        wanted,
        podWith({ securityContext: { appArmorProfile } }),
      ],
      [
        `no AppArmor by the profile ${localhostProfile} in a container`,
        'securityContext.appArmorProfile.type of container main',
        wanted,
        podWith({}, { securityContext: { appArmorProfile } }),
      ],
    ];
  }),
  [
    'a SELinux type of the host',
    'spec.securityContext.seLinuxOptions',
    absent,
    podWith({ securityContext: { seLinuxOptions: { type: 'spc_t' } } }),
  ],
  [
    "another container's SELinux level",
    'securityContext.seLinuxOptions of container main',
    absent,
    podWith({}, { securityContext: { seLinuxOptions: { level: 's0:c1,c2' } } }),
  ],
  [
    'a HostProcess container',
    'spec.securityContext.windowsOptions',
    absent,
    podWith({ securityContext: { windowsOptions: { runAsUserName: 'NT AUTHORITY\\SYSTEM' } } }),
  ],
  [
    'windowsOptions in a container',
    'securityContext.windowsOptions of container main',
    absent,
    podWith(
      {},
      { securityContext: { windowsOptions: { runAsUserName: 'ContainerAdministrator' } } },
    ),
  ],
  [
    'a sysctl',
    'spec.securityContext.sysctls',
    absent,
    podWith({
      securityContext: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }] },
    }),
  ],
  [
    'a port of the node',
    'ports.hostPort of container main',
    absent,
    podWith({}, { ports: [{ containerPort: 8080, hostPort: 8080 }] }),
  ],
  [
    'a port of the node in a sidecar',
    'ports.hostPort of container second',
    absent,
    podWith(
      secondContainer('initContainers', {
        restartPolicy: 'Always',
        ports: [{ containerPort: 22, hostPort: 22 }],
      }),
    ),
  ],
  [
    'a probe of the metadata service',
    'httpGet.host or tcpSocket.host of container main',
    absent,
    podWith({}, { livenessProbe: { httpGet: { host: '169.254.169.254', port: 80 } } }),
  ],
  [
    'a hook that asks the kubelet',
    'httpGet.host or tcpSocket.host of container main',
    absent,
    podWith({}, { lifecycle: { postStart: { httpGet: { host: '127.0.0.1', port: 10255 } } } }),
  ],
  [
    'a startup probe of a port elsewhere',
    'httpGet.host or tcpSocket.host of container main',
    absent,
    podWith({}, { startupProbe: { tcpSocket: { host: '10.0.0.1', port: 2379 } } }),
  ],
];

/** Pods that would have more of the node than a user has. */
export const hostilePrivilege: readonly HostileObject[] = [...rowsOf('pods', privilege)];
