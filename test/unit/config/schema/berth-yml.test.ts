import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseBerthYml } from '../../../../src/config/schema/berth-yml.ts';
import { readYaml } from '../../../../src/config/schema/yaml-document.ts';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';
import { refusal } from './refusal.ts';

const file = '/etc/berth/berth.yml';
function read(text: string): ReturnType<typeof parseBerthYml> {
  const { value, place } = readYaml(text, file, 'core');
  return parseBerthYml(value, file, place);
}

describe('berth.yml', () => {
  const exampleFile = new URL('../../../../etc/berth/berth.yml.example', import.meta.url);
  const example = readFileSync(exampleFile, 'utf8');

  it('accepts the shipped example, with every cluster in it', () => {
    const options = read(example);
    expect([...options.clusters.keys()]).toEqual(['prod', 'research']);
    for (const cluster of options.clusters.values()) expect(cluster).not.toBeInstanceOf(BerthError);
    expect(options.deadline).toBe(10_000);
    expect(options.clusters.get('research')).toMatchObject({
      credentials: { lifetime: 8 * 3_600_000 },
    });
  });

  it.each([
    ...['minimum_uid', 'deadline', 'state_dir', 'kube_credential', 'hook_env', 'clusters_dir'],
    ...['kubeconfig', 'context', 'cluster_api', 'namespace', 'cluster', 'subject_prefix'],
    ...['allow_cidrs', 'job_pod_reaper', 'pull_secret', 'name', 'docker_config_json'],
    ...['resource_quota', 'limit_range', 'mode', 'issuer', 'client_id', 'client_secret_file'],
    ...['ca_file', 'audience', 'exchange', 'token', 'username_claim', 'clock_skew'],
    ...['service_account', 'lifetime'],
  ])('shows %s in the example', (key) => {
    expect(example).toMatch(new RegExp(`^ *(?:# |- )?${key}:`, 'm'));
  });

  it('accepts an empty mapping and a file with comments only', () => {
    expect(read('{}').clusters.size).toBe(0);
    expect(read('# nothing yet\n').clusters.size).toBe(0);
  });

  it('reads times with their unit, as milliseconds', () => {
    expect(read('deadline: 500ms').deadline).toBe(500);
    expect(read('deadline: 1m').deadline).toBe(60_000);
  });

  it.each([
    ['deadlin: 10s', 'deadlin is unknown: did you mean deadline?'],
    ['defaults: {alow_cidrs: []}', 'defaults.alow_cidrs is unknown: did you mean allow_cidrs?'],
    [
      'defaults: {admin: {cluster_api: {namespace: a, cluster: b, contxt: c}}}',
      'defaults.admin.cluster_api.contxt is unknown: did you mean context?',
    ],
    [
      'defaults: {credentials: {frobnicate: 1}}',
      'defaults.credentials.frobnicate is unknown: known keys: mode, issuer',
    ],
    [
      'defaults: {resource_quota: {hard: {}, spec: {}}}',
      'defaults.resource_quota.spec is unknown: known keys: hard, scopes, scopeSelector',
    ],
    ['deadline: 10', 'deadline must be a time such as 500ms, 10s or 5m'],
    ['deadline: 10m', 'deadline must be a time from 100ms to 1m'],
    ['deadline: 0s', 'deadline must be a time from 100ms to 1m'],
    ['defaults: {credentials: {clock_skew: 1h}}', 'must be a time from 0s to 10m'],
    ['defaults: {credentials: {lifetime: 5m}}', 'must be a time from 10m to 720h'],
    ['defaults: {credentials: {lifetime: 9999h}}', 'must be a time from 10m to 720h'],
    ['minimum_uid: 4294967295', 'minimum_uid must be 4294967294 or less'],
    ['defaults: {credentials: {client_id: 7}}', 'client_id must be a string (put it in quotes)'],
    [
      'defaults: {credentials: {client_id: [a]}}',
      'defaults.credentials.client_id must be a string',
    ],
    [
      'defaults: {resource_quota: {hard: {cpu: lots}}}',
      'defaults.resource_quota.hard.cpu must be a quantity such as 4, 500m or 8Gi',
    ],
    ['defaults: {resource_quota: {hard: {cpu: -1}}}', 'cpu must be a quantity'],
    ['defaults: {resource_quota: {hard: {memory: 8GB}}}', 'memory must be a quantity'],
    ['defaults: {resource_quota: {hard: {cpu: }}}', 'cpu must be a quantity'],
    [
      'defaults: {limit_range: {limits: [{type: Container, max: {cpu: many}}]}}',
      'defaults.limit_range.limits.1.max.cpu must be a quantity',
    ],
    [
      'defaults: {limit_range: {limits: [{type: Container, defaults: {}}]}}',
      'defaults.limit_range.limits.1.defaults is unknown: did you mean default?',
    ],
    ['defaults: {limit_range: {limits: [{max: {cpu: 1}}]}}', 'limits.1.type is missing'],
    ['deadline: soon', 'deadline must be a time such as 500ms, 10s or 5m'],
    ['minimum_uid: 0', 'minimum_uid must be 1 or more'],
    ['minimum_uid: many', 'minimum_uid must be a whole number'],
    ['state_dir: var/lib', 'state_dir must be an absolute path'],
    ['defaults: {allow_cidrs: [10.0.0.1]}', 'defaults.allow_cidrs.1 must be address/length'],
    ['defaults: {allow_cidrs: 10.0.0.0/8}', 'defaults.allow_cidrs must be a list'],
    [
      'defaults: {credentials: {mode: odic}}',
      'defaults.credentials.mode must be one of oidc, service-account, legacy, none',
    ],
    [
      'defaults: {credentials: {issuer: "http://idp"}}',
      'defaults.credentials.issuer must be an https URL',
    ],
    [
      'defaults: {admin: {cluster_api: {namespace: a}}}',
      'defaults.admin.cluster_api.cluster is missing',
    ],
    ['- a\n- b', 'the file must be a mapping'],
    ['defaults: {allow_cidrs: [10.0.0.0/08]}', 'defaults.allow_cidrs.1 must be address/length'],
    ['defaults: {network_egress: {networks: [10.0.0.0/8]}}', 'networks.1 must be a mapping'],
    ['defaults: {network_egress: {networks: [{ports: [1]}]}}', 'networks.1.cidr is missing'],
    [
      'defaults: {network_egress: {networks: [{cidr: 10.0.0.0/8, ports: [0]}]}}',
      'networks.1.ports.1 must be 1 or more',
    ],
    ['defaults: {network_egress: {networks: [{cidr: 10.0.0.0/8, ports: []}]}}', 'networks.1.ports'],
    ['defaults: {volume_claims: [{name: a}]}', 'volume_claims.1.size must be a quantity'],
    [
      'defaults: {volume_claims: [{name: a, size: 1Gi, access_modes: [RWX]}]}',
      'access_modes.1 must be one of ReadWriteOnce, ReadWriteMany',
    ],
    ['defaults: {jupyterhub: {namespace: a}}', 'jupyterhub.service_account is missing'],
    ['defaults: {user_roles: [a b]}', 'user_roles.1 must be a valid Kubernetes object name'],
    ['defaults: {pull_secret: {name: a.-b, docker_config_json: /a}}', 'name must be a valid'],
    ['defaults: {ssh_sessions: {secret: a..b}}', 'secret must be a valid Kubernetes object name'],
    ['defaults: {credentials: {service_account: berth_user}}', 'must be a valid Kubernetes'],
    ['defaults: {resource_quota: {hard: {pods: 1.5}}}', 'hard.pods must be a whole number'],
    ['defaults: {resource_quota: {hard: {pods: 500m}}}', 'hard.pods must be a whole number'],
    ['defaults: {resource_quota: {hard: {x.org/gpu: 0.5}}}', 'gpu must be a whole number'],
    ['defaults: {resource_quota: {hard: {jobs: 5}}}', 'for a number of objects, count/jobs'],
    ['defaults: {resource_quota: {hard: {CPU: 5}}}', 'hard.CPU is not a resource that a quota'],
    ['defaults: {resource_quota: {hard: {x_/y: 5}}}', 'is not a resource that a quota limits'],
    ['defaults: {resource_quota: {hard: {}, scopes: [Best]}}', 'scopes.1 must be one of'],
    [
      'defaults: {resource_quota: {hard: {secrets: 5}, scopes: [Terminating]}}',
      'scopes.1 Terminating cannot be used with hard.secrets',
    ],
    [
      'defaults: {resource_quota: {hard: {pods: 5}, scopes: [BestEffort, NotBestEffort]}}',
      'scopes must not have both BestEffort and NotBestEffort',
    ],
    [
      'defaults: {resource_quota: {hard: {pods: 5}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In}]}}}',
      'matchExpressions.1.values must have a value with operator In',
    ],
    [
      'defaults: {limit_range: {limits: [{type: Pod, default: {cpu: 1}}]}}',
      'limits.1.default must be absent with type: Pod',
    ],
    [
      'defaults: {limit_range: {limits: [{type: Container, max: {cpu: 1}, default: {cpu: 1500m}}]}}',
      'limits.1.default.cpu must not be greater than max.cpu',
    ],
    [
      'defaults: {limit_range: {limits: [{type: Container}, {type: Container}]}}',
      'limits.2.type Container is there twice',
    ],
    [
      'defaults: {limit_range: {limits: [{type: PersistentVolumeClaim, max: {cpu: 1}}]}}',
      'PersistentVolumeClaim needs min.storage or max.storage',
    ],
    [
      'defaults: {limit_range: {limits: [{type: Container, max: {storage: 1Gi}}]}}',
      'max.storage is not a resource of a Container',
    ],
  ])('refuses %j: %s', (text, message) => {
    const error = refusal(() => read(text));
    expect(error.message).toContain(message);
    expect(error.message).toMatch(/^\/etc\/berth\/berth\.yml:1:\d+: /);
    expect(error.code).toBe('berth-yml-invalid');
    expect(error.exitCode).toBe(78);
    expect(error.hint).toContain('berth.yml.example');
  });

  it('gives the position of each mistake: of a value, of a key, of a missing key', () => {
    const error = refusal(() =>
      read(
        [
          '# comment',
          'deadline: 10m',
          'defaults:',
          '  resource_quota:',
          '    hard:',
          '      cpu: lots',
          '      memory: 8Gi',
          '  pull_secret:',
          '    name: registry',
          '  alow_cidrs: []',
          '  allow_cidrs:',
          '    - 10.0.0.0/8',
          '    - 10.0.0.1',
          '',
        ].join('\n'),
      ),
    );
    expect(error.message.split('; ')).toEqual([
      `${file}:2:11: deadline must be a time from 100ms to 1m`,
      `${file}:13:7: defaults.allow_cidrs.2 must be address/length, e.g. 10.0.0.0/8`,
      `${file}:9:5: defaults.pull_secret.docker_config_json is missing`,
      `${file}:6:12: defaults.resource_quota.hard.cpu must be a quantity such as 4, 500m or 8Gi`,
      `${file}:10:3: defaults.alow_cidrs is unknown: did you mean allow_cidrs?`,
    ]);
    expect(error.fields).toEqual({ file, line: 2, column: 11 });
  });

  it('masks networks that Kubernetes 1.36 refuses, with a warning at their line', () => {
    const { defaults, clusters, warnings } = read(
      'defaults:\n  allow_cidrs:\n    - 10.0.0.0/8\n    - 192.168.0.1/24\nclusters:\n  prod: {allow_cidrs: ["2001:DB8::1/64"]}\n  test: {network_egress: {networks: [{cidr: 10.0.0.1/8, ports: [22]}]}}\n',
    );
    expect(defaults?.allow_cidrs).toEqual(['10.0.0.0/8', '192.168.0.0/24']);
    expect(clusters.get('prod')).toEqual({ allow_cidrs: ['2001:db8::/64'] });
    expect(clusters.get('test')).toEqual({
      network_egress: { networks: [{ cidr: '10.0.0.0/8', ports: [22] }] },
    });
    expect(warnings).toMatchObject([
      { code: 'network-rewritten', file, line: 4 },
      { code: 'network-rewritten', file, line: 6 },
      { code: 'network-rewritten', file, line: 7 },
    ]);
    expect(warnings[0]?.message).toMatch(
      /^defaults.allow_cidrs: 192.168.0.1\/24 .* 192.168.0.0\/24/,
    );
  });

  it('gives the position of a mistake behind an alias', () => {
    const text = 'clusters:\n  a: &both\n    admin: {context: 1}\n  b: *both\n';
    for (const cluster of read(text).clusters.values())
      expect(cluster).toMatchObject({ fields: { line: 3, column: 22 } });
  });

  it.each(['4', '0.5', '500m', '"8Gi"', '1e3', '100k', '"0"'])(
    'accepts the quantity %s',
    (text) => {
      expect(() => read(`defaults: {resource_quota: {hard: {cpu: ${text}}}}`)).not.toThrow();
    },
  );

  it('keeps the error of one cluster beside the others', () => {
    const { clusters } = read('clusters: {prod: {alow_cidrs: []}, test: {subject_prefix: "x:"}}');
    expect(clusters.get('prod')).toMatchObject({
      code: 'berth-yml-invalid',
      message: `${file}:1:19: clusters.prod.alow_cidrs is unknown: did you mean allow_cidrs?`,
      fields: { cluster: 'prod', file, line: 1, column: 19 },
    });
    expect(clusters.get('test')).toEqual({ subject_prefix: 'x:' });
  });

  it('gives the line of broken YAML without its text', () => {
    const error = refusal(() => read('deadline: 10s\nclient: "hunter2\n'));
    expect(error).toMatchObject({ code: 'config-yaml-invalid', exitCode: 78, fields: { file } });
    expect(error.fields.line).toBeGreaterThan(1);
    expect(`${error.message}${error.hint}`).not.toContain('hunter2');
  });

  it('refuses a duplicate key', () => {
    expect(refusal(() => read('deadline: 1s\ndeadline: 2s')).code).toBe('config-yaml-invalid');
  });

  it('refuses a file whose aliases expand without end', () => {
    const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 9; level += 1) {
      const alias = `*a${level - 1}`;
      bomb.push(`a${level}: &a${level} [${Array(9).fill(alias).join(', ')}]`);
    }
    expect(refusal(() => read(bomb.join('\n'))).code).toBe('config-yaml-invalid');
  });
});
