import { describe, expect, it } from 'vitest';
import { parseOodCluster } from '../../../../src/config/schema/ood-cluster-file.ts';
import { parseYaml } from '../../../../src/config/schema/yaml-document.ts';

const file = '/etc/ood/config/clusters.d/prod.yml';
const read = (text: string): ReturnType<typeof parseOodCluster> =>
  parseOodCluster(parseYaml(text, file, 'psych'), 'prod', file);
const job = (keys: string): string => `v2: {job: {adapter: kubernetes, ${keys}}}`;

describe('a file of clusters.d', () => {
  it('is read as OnDemand’s documentation describes', () => {
    const cluster = read(`---
v2:
  metadata: { title: "My K8s Cluster" }
  job:
    adapter: "kubernetes"
    config_file: "~/.kube/config"
    cluster: "ood-prod"
    context: "ood-context"
    bin: "/usr/bin/kubectl"
    username_prefix: "prod-"
    namespace_prefix: "user-"
    all_namespaces: false
    auto_supplemental_groups: false
    server:
      endpoint: "https://k8s.my_center.edu"
      cert_authority_file: "/etc/pki/tls/certs/kubernetes-ca.crt"
    auth: { type: "oidc" }
    mounts: []
`);
    expect(cluster).toEqual({
      name: 'prod',
      auth: 'oidc',
      server: {
        endpoint: 'https://k8s.my_center.edu',
        caFile: '/etc/pki/tls/certs/kubernetes-ca.crt',
      },
      kubeconfig: { cluster: 'ood-prod', context: 'ood-context', file: '.kube/config' },
      usernamePrefix: 'prod-',
      namespacePrefix: 'user-',
      file,
      // Which its documentation does not know: sh leaves the ~ of --kubeconfig=~/.kube/config alone.
      warnings: [
        {
          code: 'cluster-config-file-tilde',
          message: expect.stringContaining('write $HOME instead') as string,
          file,
        },
      ],
    });
  });

  it('has the adapter’s defaults', () => {
    expect(read(job(''))).toMatchObject({
      auth: 'managed',
      server: { endpoint: 'https://localhost:8080' },
      kubeconfig: { cluster: 'open-ondemand', context: 'open-ondemand' },
    });
    expect(
      read(job('cluster: c, auth: {type: oidc}, server: {endpoint: "https://k"}')),
    ).toMatchObject({
      kubeconfig: { cluster: 'c', context: 'c' },
    });
  });

  it.each([
    ['~/.kube/ood', '.kube/ood'],
    ['$HOME/.kube/ood', '.kube/ood'],
    ['${HOME}//a/./b/../ood', 'a/ood'],
    ['/home/ada/x', '/home/ada/x'],
    ['/home/ada/../x', '/home/x'],
  ])('takes config_file %s as %s', (text, path) => {
    expect(read(job(`config_file: "${text}"`))?.kubeconfig.file).toBe(path);
  });

  it.each([
    ['~/../x', 'leads out of the home directory'],
    ['~/a/../../x', 'leads out of the home directory'],
    ['~', 'has characters that a shell interprets'],
    ['~/', 'does not name a file'],
    ['~/a/', 'does not name a file'],
    ['~bob/x', 'has characters that a shell interprets'],
    ['.kube/config', 'is not a path below the home directory'],
    ['/home/$USER/x', 'has characters that a shell interprets'],
    ['~/a b', 'has characters that a shell interprets'],
    ['~/a;id', 'has characters that a shell interprets'],
    ['', 'is not a path below the home directory'],
  ])(
    'keeps for config_file %j that it %s: an error where something is to be written',
    (text, why) => {
      const cluster = read(job(`config_file: "${text}"`));
      expect(cluster?.kubeconfig.file).toBeUndefined();
      expect(cluster?.configFileError).toMatchObject({
        code: 'cluster-value-invalid',
        exit: 'config',
        message: expect.stringContaining(`v2.job.config_file ${why}`) as string,
        fields: { cluster: 'prod', file },
      });
    },
  );

  it('may spell oidc as odic, with a warning that OnDemand’s code does not accept it', () => {
    const cluster = read(job('auth: {type: odic}, server: {endpoint: "https://k"}'));
    expect(cluster?.auth).toBe('oidc');
    expect(cluster?.warnings).toMatchObject([{ code: 'cluster-auth-odic', file }]);
  });

  it('may use gke with a key file', () => {
    expect(read(job('auth: {type: gke, svc_acct_file: ~/.gke/key}'))?.auth).toBe('gke');
  });

  it('is read as by Ruby: YAML 1.1, numbers become strings, the last of equal keys counts', () => {
    expect(read(job('cluster: 7, cluster: 8'))?.kubeconfig.cluster).toBe('8');
  });

  it.each(['v2: {job: {adapter: slurm}}', 'v2: {metadata: {title: x}}', 'v1: {}', 'v2:'])(
    'leaves %j alone: no Kubernetes',
    (text) => expect(read(text)).toBeUndefined(),
  );

  it.each([
    ['just words', 'the file is not a YAML mapping'],
    [job('auth: {type: oicd}, server: {endpoint: "https://k"}'), 'v2.job.auth.type is unknown'],
    [job('auth: {type: oidc}'), 'v2.job.server.endpoint is missing'],
    [job('server: {endpoint: "k8s:6443"}'), 'v2.job.server.endpoint is not an https URL'],
    [job('server: {endpoint: "https://k8s:0"}'), 'v2.job.server.endpoint is not an https URL'],
    [job('server: {endpoint: "https://k8s:99999"}'), 'v2.job.server.endpoint is not an https URL'],
    [job('server: {endpoint: "https://u:p@k8s"}'), 'v2.job.server.endpoint is a URL with a user'],
    [
      job('server: {cert_authority_file: ca.crt}'),
      'v2.job.server.cert_authority_file is not an absolute',
    ],
    [job('cluster: [a]'), 'v2.job.cluster is not a string'],
    [job('namespace_prefix: yes'), 'v2.job.namespace_prefix is not a string'],
    [job('server: k8s'), 'v2.job.server is not a mapping'],
  ])('refuses %j: %s', (text, message) => {
    const fields = { file, cluster: 'prod' };
    expect(() => read(text)).toThrow(
      expect.objectContaining({
        code: 'cluster-value-invalid',
        exit: 'config',
        fields: expect.objectContaining(fields) as unknown,
      }),
    );
    expect(() => read(text)).toThrow(message);
  });
});
