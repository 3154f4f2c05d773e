import type { BalancerSettings } from '../../../config/schema/balancer-settings.ts';
import type { Manifest } from '../../../kube/objects/kube-object.ts';
import { podHealthPort, podNames } from './placement.ts';

/** Of the pods of one balancer, or of all. */
export function podLabels(balancer?: string): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'ssh-balancer',
    ...(balancer !== undefined && { 'app.kubernetes.io/instance': balancer }),
  };
}

/** As long as an idle session may last: the old pod of a rollout serves its sessions until then. Seconds. */
const gracePeriod = 36 * 3600;

/**
 * One Deployment for each balancer. A new configuration is a new ConfigMap and so a new pod beside the old one, which
 * takes no new connections and ends with its last session.
 */
export function balancerDeployments(settings: BalancerSettings, configMap: string): Manifest[] {
  const { kubernetes } = settings;
  return podNames(kubernetes.replicas).map((name) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: kubernetes.namespace },
    spec: {
      replicas: 1,
      revisionHistoryLimit: 3,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: podLabels(name) },
      template: {
        metadata: {
          labels: podLabels(name),
          annotations: {
            'prometheus.io/scrape': 'true',
            'prometheus.io/port': String(settings.statistics.port),
          },
        },
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: gracePeriod,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65_532,
            runAsGroup: 65_532,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          affinity: affinity(name),
          containers: [container(name, settings)],
          volumes: [{ name: 'config', configMap: { name: configMap } }],
        },
      },
    },
  }));
}

/** Balancers on different nodes; the next pod of a balancer on the node that announces the address for it. */
function affinity(name: string): object {
  const preferred = (weight: number, labelSelector: object): object => ({
    preferredDuringSchedulingIgnoredDuringExecution: [
      { weight, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector } },
    ],
  });
  const [[key, value] = ['', '']] = Object.entries(podLabels());
  return {
    podAffinity: preferred(50, { matchLabels: podLabels(name) }),
    podAntiAffinity: preferred(100, {
      matchExpressions: [
        { key, operator: 'In', values: [value] },
        { key: 'app.kubernetes.io/instance', operator: 'NotIn', values: [name] },
      ],
    }),
  };
}

function container(name: string, settings: BalancerSettings): object {
  const { kubernetes, peersPort, statistics } = settings;
  return {
    name: 'haproxy',
    image: kubernetes.image,
    command: ['haproxy', '-db', '-L', name, '-f', '/etc/haproxy/haproxy.cfg'],
    env: [
      { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      ...podNames(kubernetes.replicas).map((peer, index) => ({
        name: `PEER_${index + 1}`,
        value: `${peer === name ? '$(POD_IP)' : `$(SSH_BALANCER_${index + 1}_SERVICE_HOST)`}:${peersPort}`,
      })),
    ],
    ports: [
      { containerPort: peersPort, name: 'peers' },
      { containerPort: statistics.port, name: 'statistics' },
      { containerPort: podHealthPort(settings), name: 'health' },
    ],
    readinessProbe: { httpGet: { path: '/health', port: 'health' }, periodSeconds: 5 },
    // The Service sends no new connections here by the time haproxy closes its ports.
    lifecycle: { preStop: { sleep: { seconds: 10 } } },
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '1Gi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [{ name: 'config', mountPath: '/etc/haproxy', readOnly: true }],
  };
}
