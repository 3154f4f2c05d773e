import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseLdap } from '../../../../src/config/schema/ldap-settings.ts';
import { parseProfile } from '../../../../src/config/schema/profile/profile-parse.ts';
import {
  hubChartValues,
  hubConfigFile,
  type HubSettings,
} from '../../../../src/companions/notebooks/rules/hub-files.ts';
import { hubLdapTraits } from '../../../../src/companions/notebooks/rules/hub-ldap.ts';
import { hubPodProfile } from '../../../../src/companions/notebooks/rules/hub-profile.ts';

const profile = (fields: object = {}) =>
  hubPodProfile(parseProfile({ backend: 'pod', image: 'a/b:1', ...fields }, 'lab', 'lab.yml'));
const settings = (fields: object = {}): HubSettings => ({
  ...{ socket: '/run/berth/hub.sock', cluster: 'prod', namespace_prefix: 'u-' },
  profiles: [profile(fields)],
});

describe('the configuration of a hub', () => {
  it.each(['"""', 'a\\', '\\"', '"', "'''", '\n', '{}', 'ü😀'])(
    'has every text of a profile as it is: %j',
    (text) => {
      const wanted = settings({ environment: { set: { TEXT: text } } });
      const [, json = ''] =
        /^configure\(c, json\.loads\(r"""\n([^]*)\n"""\)\)/m.exec(hubConfigFile(wanted)) ?? [];
      expect(json).not.toContain('"""');
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(wanted)));
    },
  );

  it('for the chart lets the hub reach servers in the namespaces of users', () => {
    const values = parse(hubChartValues(settings(), { 'a.py': 'x = 1\n' })) as {
      hub: { extraFiles: object; networkPolicy: object };
      singleuser: object;
    };
    expect(values.hub.extraFiles).toEqual({
      'berth-a-py': {
        mountPath: '/usr/local/share/berth/jupyterhub/berth_jupyterhub/a.py',
        stringData: 'x = 1\n',
      },
    });
    expect(values.hub.networkPolicy).toMatchObject({ interNamespaceAccessLabels: 'accept' });
    expect(values.singleuser).toMatchObject({ cloudMetadata: { blockWithIptables: false } });
  });
});

describe('a choice of the hub', () => {
  it('sets the same traits for every profile', () => {
    const traits = ({ traits: all }: ReturnType<typeof profile>): string[] => Object.keys(all);
    const full = profile({
      ...{ groups: ['gpu'], lifetime: '2h', limits: { cpus: 2, memory: '8G' } },
      pod: { node_selector: { a: 'b' }, priority_class: 'batch', extended: { 'x.org/gpu': 1 } },
    });
    expect(traits(full)).toEqual(traits(profile()));
    expect(full.traits).toMatchObject({
      ...{ cpu_limit: 2, mem_limit: 8 * 1024 ** 3, extra_resource_limits: { 'x.org/gpu': '1' } },
      ...{ args: [], extra_pod_config: { activeDeadlineSeconds: 7200 } },
    });
    expect(full.description).toBe('a/b:1: 2 CPU, 8Gi memory, 1 x.org/gpu, ends after 2 h');
  });
});

describe('the time limits of a profile', () => {
  it('end the server after a time without activity, although its page is open', () => {
    expect(profile({ timeouts: { idle: '30m' } }).traits.args).toEqual([
      '--ServerApp.shutdown_no_activity_timeout=1800',
      '--MappingKernelManager.cull_idle_timeout=1800',
      '--MappingKernelManager.cull_interval=300',
      '--TerminalManager.cull_inactive_timeout=1800',
      '--MappingKernelManager.cull_connected=True',
    ]);
    expect(profile({ lifetime: '8h', timeouts: { idle: '30m' } }).traits.args).toHaveLength(5);
  });

  it('are refused where nothing keeps them', () => {
    const timeouts = { soft: '1h', hard: '2h', warn: ['5m'] };
    expect(() => profile({ lifetime: 'user', timeouts })).toThrow(
      'the profile lab has timeouts.soft and timeouts.warn, which is not supported for notebook servers',
    );
    expect(profile({ lifetime: '1h', timeouts: { warn: [] } }).name).toBe('lab');
  });
});

describe('the login with the directory', () => {
  const ldap = (more: object = {}) =>
    parseLdap(
      {
        ...{ url: 'ldaps://ldap.example.org', bind_dn: 'cn=x', bind_password_file: '/root/p' },
        users: { base: 'ou=people' },
        groups: { base: 'ou=groups' },
        ...more,
      },
      'berth.yml',
    );

  it('names the password of the hub, not that of root', () => {
    expect(JSON.stringify(hubLdapTraits(ldap(), '/etc/jupyterhub/p'))).not.toContain('/root');
  });

  it('has the filter of the site in braces that nothing replaces', () => {
    const users = { base: 'ou=people', filter: '(description={x})' };
    expect(hubLdapTraits(ldap({ users }), '/p').lookup_dn_search_filter).toBe(
      '(&(description={{x}})({login_attr}={login}))',
    );
  });

  it('is not rendered for what its authenticator cannot do', () => {
    const users = { base: ['ou=a', 'ou=b'] };
    expect(() => hubLdapTraits(ldap({ users }), '/p')).toThrow('several search bases');
    const url = 'ldapi://%2Frun%2Fldapi';
    expect(() => hubLdapTraits(ldap({ url }), '/p')).toThrow('a Unix socket');
  });
});
