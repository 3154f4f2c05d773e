import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { hookEnvSettings } from '../../../../src/config/schema/hook-env/hook-env-settings.ts';
import { parseHookEnv } from '../../../../src/config/schema/hook-env/hook-env.ts';
import { withBerthKeys } from '../../../../src/config/schema/berth-keys.ts';
import { newBerthYml } from '../../../../src/setup/init/rules/example-text.ts';
import { oscKeys } from '../../../../src/setup/init/rules/osc-keys.ts';

const keysOf = (text: string) => {
  const env = parseHookEnv(text, 'hook.env');
  return oscKeys(env, hookEnvSettings(env, 'hook.env'));
};

describe("OSC's keys", () => {
  it('have a counterpart, except for what Kubernetes or Berth does not have', () => {
    const keys = keysOf(`NAMESPACE_PREFIX="user-"
CLIENT_SECRET="s3cret"
IDP_ISSUER_URL="https://idp.example.com/auth/realms/main/protocol/openid-connect/token"
USE_POD_SECURITY_POLICY=true
SITE_TOKEN=abc
`);
    expect(keys.filter(({ counterpart }) => !counterpart).map(({ key }) => key)).toEqual([
      'USE_POD_SECURITY_POLICY',
      'SITE_TOKEN',
    ]);
    expect(JSON.stringify(keys)).not.toMatch(/s3cret|abc/);
    expect(keys.find(({ key }) => key === 'IDP_ISSUER_URL')?.becomes).toContain(
      'https://idp.example.com/auth/realms/main:',
    );
  });
});

describe('berth.yml', () => {
  const example = readFileSync(
    new URL('../../../../etc/berth/berth.yml.example', import.meta.url),
    'utf8',
  );

  it('is new with the given keys, and with every other key as a comment', () => {
    const text = newBerthYml(example, [
      [['defaults', 'subject_prefix'], 'oidc:'],
      [['defaults', 'credentials', 'audience'], 'kubernetes'],
      [['clusters_dir'], '/srv/clusters.d'],
    ]);
    expect(parse(text)).toEqual({
      clusters_dir: '/srv/clusters.d',
      defaults: { subject_prefix: 'oidc:', credentials: { audience: 'kubernetes' } },
    });
    expect(text).toContain('# minimum_uid: 1000\n');
    expect(text).toContain('  # job_pod_reaper: false\n');
  });

  it('keeps comments and keys of the site', () => {
    const text = '# mine\ndefaults:\n  subject_prefix: a # why\n  job_pod_reaper: true\n';
    const edited = withBerthKeys(text, [
      [['defaults', 'subject_prefix'], 'b'],
      [['clusters', 'prod', 'job_pod_reaper'], false],
    ]);
    expect(edited).toBe(
      '# mine\ndefaults:\n  subject_prefix: b # why\n  job_pod_reaper: true\nclusters:\n  prod:\n    job_pod_reaper: false\n',
    );
    expect(withBerthKeys(edited, [[['clusters', 'prod'], undefined]])).toContain('clusters: {}\n');
    expect(withBerthKeys('# a comment only\n', [[['hook_env'], null]])).toBe(
      '# a comment only\n\nhook_env: null\n',
    );
  });
});
