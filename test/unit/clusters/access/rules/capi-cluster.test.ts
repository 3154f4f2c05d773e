import { describe, expect, it } from 'vitest';
import { capiClusterOf } from '../../../../../src/clusters/access/rules/capi-cluster.ts';
import { oidcArguments } from '../../../../../src/clusters/access/rules/oidc-arguments.ts';

const issuer = 'https://idp.example.com/realms/main';
const withArgs = (extraArgs: unknown, files: unknown = []) => ({
  spec: { kubeadmConfigSpec: { clusterConfiguration: { apiServer: { extraArgs } }, files } },
});

describe('the OIDC settings of a KubeadmControlPlane', () => {
  it.each([
    ['v1beta1', { 'oidc-issuer-url': issuer, 'oidc-client-id': 'kube' }],
    [
      'v1beta2',
      [
        { name: 'oidc-issuer-url', value: issuer },
        { name: 'oidc-client-id', value: 'kube' },
      ],
    ],
  ])('are read from the arguments of %s, with the defaults of kube-apiserver', (_version, args) => {
    expect(oidcArguments(withArgs(args))).toEqual({
      ...{ issuer, audience: 'kube', usernameClaim: 'sub', usernamePrefix: `${issuer}#` },
    });
  });

  it.each([
    [{ 'oidc-username-prefix': '-' }, ''],
    [{ 'oidc-username-claim': 'email' }, ''],
    [{ 'oidc-username-prefix': 'oidc:' }, 'oidc:'],
  ])('have the prefix that kube-apiserver makes of %j', (more, prefix) => {
    const args = { 'oidc-issuer-url': issuer, ...more };
    expect(oidcArguments(withArgs(args))?.usernamePrefix).toBe(prefix);
  });

  it('are read from an AuthenticationConfiguration in one of its files', () => {
    const content = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
  - issuer: { url: '${issuer}', audiences: [kube, other] }
    claimMappings: { username: { claim: preferred_username, prefix: 'oidc:' } }
`;
    const args = { 'authentication-config': '/etc/kubernetes/auth.yaml' };
    const files = [{ path: '/etc/kubernetes/auth.yaml', content }];
    expect(oidcArguments(withArgs(args, files))).toEqual({
      ...{ issuer, audience: 'kube' },
      ...{ usernameClaim: 'preferred_username', usernamePrefix: 'oidc:' },
    });
    expect(oidcArguments(withArgs(args))).toBeUndefined();
    expect(oidcArguments(withArgs(args, [{ ...files[0], content: ': [' }]))).toBeUndefined();
  });

  it('are none where there are none', () => {
    for (const object of [{}, null, withArgs(undefined), withArgs([{ name: 'v', value: '2' }])])
      expect(oidcArguments(object)).toBeUndefined();
  });
});

describe('a Cluster', () => {
  it('names its control plane in v1beta1 and in v1beta2', () => {
    const metadata = { name: 'a', namespace: 'fleet' };
    const common = { kind: 'KubeadmControlPlane', name: 'cp' };
    const [group, version] = ['controlplane.cluster.x-k8s.io', 'v1beta1'];
    const controlPlane = (controlPlaneRef: object) =>
      capiClusterOf({ metadata, spec: { controlPlaneRef } })?.controlPlane;
    expect(controlPlane({ ...common, apiVersion: `${group}/${version}` })).toEqual({
      ...{ ...common, version, namespace: 'fleet' },
    });
    expect(controlPlane({ ...common, apiGroup: group })).toEqual({
      ...{ ...common, namespace: 'fleet' },
    });
  });

  it('has no control plane whose parts cannot be in a path, or of another API group', () => {
    const metadata = { name: 'a', namespace: 'fleet' };
    const common = {
      kind: 'KubeadmControlPlane',
      name: 'cp',
      apiGroup: 'controlplane.cluster.x-k8s.io',
    };
    for (const wrong of [
      { apiGroup: 'a/../../api' },
      { apiGroup: 'example.org' },
      { apiGroup: undefined, apiVersion: 'controlplane.cluster.x-k8s.io/../v1' },
      { name: 'cp\r\nx: y' },
      { name: '../secrets' },
    ]) {
      const controlPlaneRef = { ...common, ...wrong };
      expect(capiClusterOf({ metadata, spec: { controlPlaneRef } })?.controlPlane).toBeUndefined();
    }
    for (const wrong of [{ name: '../a' }, { namespace: 'a/b' }])
      expect(capiClusterOf({ metadata: { ...metadata, ...wrong } })).toBeUndefined();
  });
});
