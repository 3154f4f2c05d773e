import { describe, expect, it } from 'vitest';
import { ecKey, hook, oidc, only, site } from './site-from-texts.ts';

describe('the settings of a site', () => {
  it('refuse a cluster whose config_file leads out of the home, if Berth writes it', () => {
    const clusters = { prod: `${oidc}, config_file: ~/../x`, ours: `${oidc}, config_file: ~/x` };
    const { settings, broken } = site({ clusters });
    expect(broken).toMatchObject([{ cluster: 'prod', error: { code: 'cluster-value-invalid' } }]);
    expect(settings.clusters).toMatchObject([{ name: 'ours', kubeconfig: { file: 'x' } }]);
    const berth = 'defaults: {credentials: {mode: none}}';
    expect(site({ clusters, berth }).broken).toEqual([]);
  });

  it('of a site with OSC’s hooks need only OnDemand’s files', () => {
    expect(site({}).settings).toEqual({
      minimumUid: 1000,
      deadlineMs: 10_000,
      stateDir: '/var/lib/berth',
      clustersDir: '/etc/ood/config/clusters.d',
      kubeCredentialCommand: '/usr/lib/berth/shell/kube-credential',
      warnings: [],
      clusters: [
        {
          name: 'prod',
          auth: 'oidc',
          server: { endpoint: 'https://k' },
          kubeconfig: { cluster: 'open-ondemand', context: 'open-ondemand' },
          namespacePrefix: '',
          usernamePrefix: '',
          subjectPrefix: '',
          admin: { kind: 'kubeconfig', file: '/root/.kube/config' },
          allowedCidrs: ['127.0.0.1/32'],
          jobPodReaper: false,
          credentials: {
            mode: 'oidc',
            issuer: 'https://idp.example.com/realms/main',
            clientId: 'portal',
            clientAuth: { method: 'client_secret_basic', secret: 's3cret' },
            audience: 'portal',
            exchange: false,
            usernameClaim: 'preferred_username',
            clockSkewSeconds: 60,
            token: 'id',
          },
        },
      ],
    });
  });

  it('are frozen with everything in them', () => {
    const { settings } = site({});
    expect(Object.isFrozen(settings)).toBe(true);
    expect(Object.isFrozen(settings.clusters[0]?.credentials)).toBe(true);
    expect(Object.isFrozen(settings.clusters[0]?.allowedCidrs)).toBe(true);
  });

  it('prefer a cluster’s entry to the defaults, those to hook.env, that to the built-in defaults', () => {
    const hookEnv = `${hook}NETWORK_POLICY_ALLOW_CIDR=10.3.0.0/16\nUSE_JOB_POD_REAPER=true`;
    const cidrs = (berth: string): readonly string[] => only({ berth, hookEnv }).allowedCidrs;
    const defaults = 'defaults: {allow_cidrs: [10.2.0.0/16]}';
    expect(cidrs(`{${defaults}, clusters: {prod: {allow_cidrs: [10.1.0.0/16]}}}`)).toEqual([
      '10.1.0.0/16',
    ]);
    expect(cidrs(defaults)).toEqual(['10.2.0.0/16']);
    expect(cidrs('{}')).toEqual(['10.3.0.0/16']);
    expect(only({ hookEnv }).jobPodReaper).toBe(true);
    expect(only({ hookEnv, berth: 'defaults: {job_pod_reaper: false}' }).jobPodReaper).toBe(false);
  });

  it('merge the keys of credentials one by one', () => {
    const berth =
      '{defaults: {credentials: {username_claim: sub}}, clusters: {prod: {credentials: {clock_skew: 5s}}}}';
    expect(only({ berth }).credentials).toMatchObject({
      usernameClaim: 'sub',
      clockSkewSeconds: 5,
    });
  });

  it('need an exchange and a secret for own_refresh_token', () => {
    const of = (more: string): string =>
      `{defaults: {credentials: {own_refresh_token: true, ${more}}}}`;
    const open = hook.replace(/CLIENT_SECRET=.*/, '');
    expect(only({ berth: of('audience: k8s') }).credentials).toMatchObject({
      exchange: true,
      ownRefreshToken: true,
    });
    for (const input of [
      { berth: of('exchange: false') },
      { hookEnv: open, berth: of('audience: k8s') },
    ])
      expect(site(input).broken).toMatchObject([{ error: { code: 'credentials-contradictory' } }]);
  });

  it('let null remove a value of hook.env or the defaults', () => {
    const hookEnv = `${hook}IMAGE_PULL_SECRET=a\nREGISTRY_DOCKER_CONFIG_JSON=/a.json`;
    expect(only({ hookEnv }).pullSecret).toEqual({ name: 'a', dockerConfigFile: '/a.json' });
    expect(only({ hookEnv, berth: 'defaults: {pull_secret: null}' })).not.toHaveProperty(
      'pullSecret',
    );
  });

  it('prefer the cluster’s prefix to hook.env’s, and say which of them Berth and OnDemand use', () => {
    const hookEnv = `${hook}NAMESPACE_PREFIX=user-`;
    const same = { hookEnv, clusters: { prod: `namespace_prefix: user-, ${oidc}` } };
    expect(only(same).namespacePrefix).toBe('user-');
    expect(site(same).settings.warnings).toEqual([]);
    const other = { hookEnv, clusters: { prod: `namespace_prefix: u-, ${oidc}` } };
    expect(only(other).namespacePrefix).toBe('u-');
    expect(site(other).settings.warnings).toMatchObject([
      {
        ...{ code: 'prefixes-differ', file: expect.stringMatching(/hook\.env$/) as string },
        message: expect.stringMatching(
          /: Berth and OnDemand use v2\.job\.namespace_prefix, so NAMESPACE_PREFIX has no effect/,
        ) as string,
      },
    ]);
    expect(only({ hookEnv }).namespacePrefix).toBe('user-');
    expect(site({ hookEnv }).settings.warnings).toMatchObject([
      {
        ...{ code: 'prefixes-differ', file: expect.stringMatching(/prod\.yml$/) as string },
        message: expect.stringMatching(
          /: Berth uses NAMESPACE_PREFIX, but OnDemand reads only v2\.job\.namespace_prefix/,
        ) as string,
      },
    ]);
  });

  it('do not use the kubeconfig’s prefix as the API server’s', () => {
    const cluster = only({
      hookEnv: `${hook}K8S_USERNAME_PREFIX=prod-`,
      berth: 'defaults: {subject_prefix: "oidc:"}',
    });
    expect(cluster).toMatchObject({ usernamePrefix: 'prod-', subjectPrefix: 'oidc:' });
  });

  it('exchange the token if the cluster needs another audience', () => {
    const exchanged = only({
      berth: 'defaults: {credentials: {audience: kubernetes}}',
    }).credentials;
    expect(exchanged).toMatchObject({ audience: 'kubernetes', exchange: true, token: 'access' });
    const mapped = only({
      berth: 'defaults: {credentials: {audience: kubernetes, exchange: false}}',
    });
    expect(mapped.credentials).toMatchObject({ exchange: false, token: 'id' });
  });

  it('never use hook.env’s secret for another client', () => {
    expect(
      only({ berth: 'defaults: {credentials: {client_id: other}}' }).credentials,
    ).not.toHaveProperty('clientAuth');
    const berth = 'defaults: {credentials: {client_id: other, client_secret_file: /s}}';
    expect(only({ berth, secrets: { '/s': 'theirs' } }).credentials).toMatchObject({
      clientAuth: { method: 'client_secret_basic', secret: 'theirs' },
    });
  });

  it('refuse the legacy mode with a client that has no secret but a key', () => {
    const key = ecKey();
    const berth =
      'defaults: {credentials: {mode: legacy, client_auth_method: private_key_jwt, client_key_file: /k}}';
    expect(site({ berth, secrets: { '/k': key } }).broken).toMatchObject([
      { cluster: 'prod', error: { code: 'credentials-contradictory' } },
    ]);
  });

  it.each(['managed', 'gke'])('leave kubeconfigs to others where auth is %s', (auth) => {
    expect(only({ clusters: { prod: `auth: {type: ${auth}}` } }).credentials).toEqual({
      mode: 'none',
    });
  });

  it.each([
    ['{context: c}', { kind: 'kubeconfig', file: '/site', context: 'c' }],
    ['{kubeconfig: /own}', { kind: 'kubeconfig', file: '/own' }],
    [
      '{cluster_api: {namespace: n, cluster: x}}',
      {
        kind: 'cluster-api',
        file: '/site',
        management: { file: '/root/.kube/config', namespace: 'n', cluster: 'x' },
      },
    ],
  ])("a cluster's admin %s stands beside the site's file, or in its place", (own, admin) => {
    const defaults = 'defaults: {admin: {kubeconfig: /site, context: site}}';
    expect(only({ berth: `{${defaults}, clusters: {prod: {admin: ${own}}}}` }).admin).toEqual(
      admin,
    );
  });

  it('support Cluster API’s Secret, ServiceAccounts and the legacy mode', () => {
    const berth = `
defaults: {admin: {cluster_api: {kubeconfig: /m, namespace: clusters, cluster: prod}}, credentials: {mode: service-account, lifetime: 1h}}
`;
    expect(only({ berth })).toMatchObject({
      admin: {
        kind: 'cluster-api',
        file: '/root/.kube/config',
        management: { file: '/m', namespace: 'clusters', cluster: 'prod' },
      },
      credentials: { mode: 'service-account', name: 'berth-user', lifetimeSeconds: 3600 },
    });
    expect(only({ berth: 'defaults: {credentials: {mode: legacy}}' }).credentials).toMatchObject({
      mode: 'legacy',
      oidc: { clientId: 'portal' },
    });
  });

  it('lack only the cluster with an error', () => {
    const { settings, broken } = site({
      hookEnv: 'CLIENT_ID=portal',
      berth: '{clusters: {typo: {alow_cidrs: []}, managd: {}}}',
      clusters: { oidc, managed: 'auth: {type: managed}', typo: 'auth: {type: managed}' },
    });
    expect(settings.clusters.map(({ name }) => name)).toEqual(['managed']);
    expect(broken.map(({ cluster, error }) => [cluster, error.code, error.exitCode])).toEqual([
      ['oidc', 'credentials-incomplete', 78],
      ['typo', 'berth-yml-invalid', 78],
      ['managd', 'cluster-unknown', 78],
    ]);
    expect(broken[2]?.error.message).toContain('did you mean managed?');
  });

  it('have a warning if there is no Kubernetes cluster', () => {
    expect(site({ clusters: {} }).settings.warnings).toMatchObject([
      { code: 'no-kubernetes-cluster' },
    ]);
  });
});
