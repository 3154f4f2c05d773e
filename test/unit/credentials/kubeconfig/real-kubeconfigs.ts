/** Kubeconfigs in the formats that tools write and people keep; names and keys are made up. */

const certificate = Buffer.from(
  `-----BEGIN CERTIFICATE-----\n${'MIIDBTCCAe2gAwIBAgIIQ8kSb3v3cJ4wDQYJKoZIhvcNAQELBQAwFTETMBEGA1UE\n'.repeat(15)}-----END CERTIFICATE-----\n`,
).toString('base64');

const wrapped = (indent: string): string =>
  (certificate.match(/.{1,64}/g) ?? []).map((line) => `${indent}${line}`).join('\n');

export const realKubeconfigs = {
  /** `kubectl config set-cluster`, `set-credentials`, `set-context`. */
  kubectl: `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${certificate}
    server: https://k8s.example.org:6443
  name: prod
contexts:
- context:
    cluster: prod
    namespace: team
    user: ann
  name: prod
current-context: prod
kind: Config
preferences: {}
users:
- name: ann
  user:
    client-certificate-data: ${certificate}
    client-key-data: ${certificate}
`,
  /** `gcloud container clusters get-credentials`. */
  gcloud: `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${certificate}
    server: https://203.0.113.7
  name: gke_research-1234_europe-west1-b_gpu
contexts:
- context:
    cluster: gke_research-1234_europe-west1-b_gpu
    user: gke_research-1234_europe-west1-b_gpu
  name: gke_research-1234_europe-west1-b_gpu
current-context: gke_research-1234_europe-west1-b_gpu
kind: Config
preferences: {}
users:
- name: gke_research-1234_europe-west1-b_gpu
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: gke-gcloud-auth-plugin
      installHint: Install gke-gcloud-auth-plugin for use with kubectl by following
        https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl#install_plugin
      provideClusterInfo: true
`,
  /** As `kubectl oidc-login setup` prints it for kubelogin, and its users paste it. */
  kubelogin: `apiVersion: v1
kind: Config
clusters:
- name: prod
  cluster:
    server: https://k8s.example.org:6443
    certificate-authority-data: >-
${wrapped('      ')}
users:
- name: oidc
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: kubectl
      args:
      - oidc-login
      - get-token
      # - -v1
      - --oidc-issuer-url=https://id.example.org/realms/site
      - --oidc-client-id=kubernetes
      - --oidc-extra-scope=email profile groups offline_access and whatever else our provider wants
      env: null
      interactiveMode: IfAvailable
contexts:
- {name: prod, context: {cluster: prod, user: oidc}}
current-context: prod
`,
  /** By hand: four columns, aligned comments, gaps. */
  commented: `# Ann's clusters. Ask ann@example.org before you copy this.

apiVersion: v1
kind: Config

clusters:
    # The old one goes in May.
    - name: old        # CentOS
      cluster:
          server: "https://old.example.org:6443"    # VPN only
          insecure-skip-tls-verify: true            # yes, really


    - name: new
      cluster:
          server: 'https://new.example.org:6443'
          # certificate-authority: /etc/pki/old.pem
          certificate-authority: /etc/pki/new.pem

users:
    - name: ann
      user: { token: abc.def.ghi }      # until 2027-01
contexts:
    - { name: old,  context: { cluster: old,  user: ann } }
    - { name: new,  context: { cluster: new,  user: ann } }
current-context: new   # not old
# end
`,
  /** Twenty clusters that share their settings. */
  anchors: `apiVersion: v1
kind: Config
x-common: &common   # every cluster of the site
  certificate-authority-data: "${certificate.slice(0, 60)}\\
    ${certificate.slice(60, 120)}"
clusters:
- name: a
  cluster:
    <<: *common
    server: https://a.example.org:6443
- name: b
  cluster: {<<: *common, server: 'https://b.example.org:6443'}
users:
- name: ann
  user: &ann
    token: abc.def.ghi
- name: ann-again
  user: *ann
contexts:
- context: &both {cluster: a, user: ann}
  name: a
current-context: a
`,
  /** A key whose base64 an editor wrapped, and a token in a block. */
  wrapped: `kind: Config
apiVersion: v1
users:
- name: ann
  user:
    client-key-data: "${certificate.slice(0, 60)}\\
      ${certificate.slice(60, 120)}\\
      ${certificate.slice(120, 180)}"
    client-certificate-data: >
${wrapped('      ')}
- name: robot
  user:
    token: |-
      abc.def.ghi
clusters: []
contexts:
`,
  /** `kubectl config view --raw -o json`. */
  json: `${JSON.stringify(
    {
      kind: 'Config',
      apiVersion: 'v1',
      preferences: {},
      clusters: [{ name: 'prod', cluster: { server: 'https://k8s.example.org:6443' } }],
      users: [{ name: 'ann', user: { token: 'abc.def.ghi' } }],
      contexts: [{ name: 'prod', context: { cluster: 'prod', user: 'ann' } }],
      'current-context': 'prod',
    },
    null,
    4,
  )}\n`,
  /** Saved by an editor on Windows. */
  crlf: `apiVersion: v1\r\nkind: Config\r\n# work\r\nclusters:\r\n- name: work\r\n  cluster:\r\n    server: https://work.example.org\r\nusers: []\r\n`,
} as const;
