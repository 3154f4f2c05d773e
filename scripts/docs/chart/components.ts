import type { Substitution } from './substitution.ts';

/** A component of etc/kubernetes in the chart. */
export interface ChartComponent {
  /** The directory below etc/kubernetes, and the name of its templates. */
  readonly directory: string;
  /** Its key in values.yaml; `enabled` below it is the component's switch. */
  readonly key: string;
  /** What the chart takes from its values, by the name of the file. */
  readonly substitutions?: Readonly<Record<string, readonly Substitution[]>>;
}

/** Lines that begin with at least so many spaces. */
const indented = (spaces: number): string => `(?: {${spaces}}.*\\n)+`;

/** The ConfigMap's name has a hash of its content, as Kustomize makes it: a change replaces the pods. */
const balancer: readonly Substitution[] = [
  { from: 'docker.io/library/haproxy:2.6', to: '{{ .Values.sshBalancer.image }}' },
  { from: 'name: haproxy\n---\n', to: 'name: {{ include "berth.haproxyConfigMap" . }}\n---\n' },
];

/** In the order of values.yaml. */
export const components: readonly ChartComponent[] = [
  {
    directory: 'hook',
    key: 'hook',
    substitutions: {
      'hook.yaml': [
        {
          from: /apiVersion: v1\nkind: Namespace\nmetadata:\n {2}name: ondemand\n---\n/,
          to: `{{- if .Values.createNamespace }}
apiVersion: v1
kind: Namespace
metadata:
  name: {{ .Release.Namespace }}
---
{{- end }}
`,
        },
        {
          from: '[ondemand-pull-secret]',
          to: '{{ .Values.hook.pullSecrets | toJson }}',
        },
      ],
    },
  },
  { directory: 'roles', key: 'roles' },
  { directory: 'guard', key: 'guard' },
  { directory: 'admission', key: 'admission' },
  {
    directory: 'reaper',
    key: 'reaper',
    substitutions: { 'reaper.yaml': cronJob('reaper', '*/5 * * * *') },
  },
  {
    directory: 'ldap-sync',
    key: 'ldapSync',
    substitutions: { 'ldap-sync.yaml': cronJob('ldapSync', '*/15 * * * *') },
  },
  { directory: 'ldap-config-maps', key: 'ldapConfigMaps' },
  { directory: 'ssh-sessions', key: 'sshSessions' },
  { directory: 'ssh-sessions-list', key: 'sshSessionsList' },
  { directory: 'service-account-tokens', key: 'serviceAccountTokens' },
  {
    directory: 'jupyterhub',
    key: 'jupyterhub',
    substitutions: {
      'jupyterhub.yaml': [
        { from: "'jupyterhub'", to: "'{{ .Values.jupyterhub.namespace }}'" },
        { from: "'hub'", to: "'{{ .Values.jupyterhub.serviceAccount }}'" },
      ],
    },
  },
  {
    directory: 'user-roles',
    key: 'userRoles',
    substitutions: {
      'user-roles.yaml': [{ from: '[berth-dask]', to: '{{ .Values.userRoles.names | toJson }}' }],
    },
  },
  { directory: 'volume-claims', key: 'volumeClaims' },
  {
    directory: 'monitoring',
    key: 'monitoring',
    substitutions: {
      'balancer.yaml': [monitoringLabels('ssh-balancer')],
      'rules.yaml': [monitoringLabels('berth')],
    },
  },
  {
    directory: 'pages',
    key: 'pages',
    substitutions: {
      'pages.yaml': [
        { from: 'replicas: 2', to: 'replicas: {{ .Values.pages.replicas }}' },
        {
          from: 'docker.io/nginxinc/nginx-unprivileged:1.28',
          to: '{{ .Values.pages.image }}',
        },
        {
          from: 'docker.io/nginx/nginx-prometheus-exporter:1.5.1',
          to: '{{ .Values.pages.exporterImage }}',
        },
      ],
    },
  },
  {
    directory: 'log-aggregator',
    key: 'logAggregator',
    substitutions: {
      'config.yaml': [
        {
          from: new RegExp(` {2}hosts: \\|\n${indented(4)}`),
          to: `  hosts: |
    # The common names of the certificates of those that may send, one on each line.
    {{- range .Values.logAggregator.hosts }}
    {{ . }}
    {{- end }}
`,
        },
      ],
      'aggregator.yaml': [
        {
          from: 'registry.example.org/log-aggregator:latest',
          to: '{{ .Values.logAggregator.image }}',
          times: 4,
        },
        { from: 'storage: 20Gi', to: 'storage: {{ .Values.logAggregator.size }}' },
        { from: "value: '90'", to: 'value: {{ .Values.logAggregator.days | quote }}' },
      ],
    },
  },
  {
    directory: 'ssh-balancer/base',
    key: 'sshBalancer',
    substitutions: {
      'balancer-1.yaml': balancer,
      'balancer-2.yaml': balancer,
      'service.yaml': [
        {
          from: new RegExp(` {2}annotations:\n${indented(4)}`),
          to: `  {{- with .Values.sshBalancer.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
`,
        },
        {
          from: new RegExp(` {2}ports:\n${indented(4)}`),
          to: `  ports:
    {{- range .Values.sshBalancer.ports }}
    - name: {{ .name }}
      port: {{ .port }}
      targetPort: {{ .targetPort }}
      protocol: TCP
    {{- end }}
`,
        },
      ],
      'policies.yaml': [
        {
          from: new RegExp(` {4}- ports:\n${indented(8)}`),
          to: `    - ports:
        {{- range .Values.sshBalancer.ports }}
        - protocol: TCP
          port: {{ .targetPort }}
        {{- end }}
`,
        },
        {
          from: new RegExp(
            ` {4}- to:\n {8}- ipBlock:\n${indented(6)}(?: {4}- to:\n {8}- ipBlock:\n${indented(6)})*`,
          ),
          to: `    {{- toYaml .Values.sshBalancer.egress | nindent 4 }}
`,
        },
      ],
    },
  },
  {
    directory: 'ssh-balancer/metallb',
    key: 'sshBalancer.metallb',
    substitutions: {
      'pool.yaml': [
        {
          from: new RegExp(` {2}addresses:\n${indented(4)}`),
          to: `  addresses:
    {{- toYaml .Values.sshBalancer.metallb.addresses | nindent 4 }}
`,
        },
      ],
    },
  },
];

/** The operator may select by labels. */
function monitoringLabels(name: string): Substitution {
  const from = `  labels:\n    app.kubernetes.io/name: ${name}\n`;
  const more = `    {{- with .Values.monitoring.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
`;
  return { from, to: from + more };
}

function cronJob(key: string, schedule: string): Substitution[] {
  const values = `.Values.${key}`;
  return [
    { from: 'suspend: true\n', to: `suspend: {{ ${values}.suspend }}\n` },
    { from: `schedule: '${schedule}'`, to: `schedule: {{ ${values}.schedule | quote }}` },
    { from: 'registry.example.org/berth:latest', to: '{{ include "berth.image" . }}' },
    {
      from: '--timeout, 8m]',
      to: `--timeout, 8m{{ range ${values}.args }}, {{ . | toJson }}{{ end }}]`,
    },
    {
      from: '          restartPolicy: Never\n',
      to: `          restartPolicy: Never
          {{- with .Values.imagePullSecrets }}
          imagePullSecrets:
            {{- toYaml . | nindent 12 }}
          {{- end }}
`,
    },
  ];
}
