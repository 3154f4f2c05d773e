import type { ClusterSettings } from '../../src/config/schema/settings.ts';
import type { User } from '../../src/system/identity/nss.ts';

/** A cluster whose users get tokens of a ServiceAccount. */
export const exampleCluster: ClusterSettings = {
  name: 'prod',
  auth: 'oidc',
  server: { endpoint: 'https://k8s.example.org:6443' },
  kubeconfig: { cluster: 'prod', context: 'prod' },
  namespacePrefix: 'u-',
  usernamePrefix: '',
  subjectPrefix: '',
  admin: { kind: 'kubeconfig', file: '/root/.kube/config' },
  allowedCidrs: [],
  jobPodReaper: true,
  credentials: { mode: 'service-account', name: 'ondemand-user', lifetimeSeconds: 3600 },
};

export const exampleUser: User = {
  ...{ name: 'alice', uid: 1001, gid: 1001, groups: [1001], home: '/', shell: '' },
};
