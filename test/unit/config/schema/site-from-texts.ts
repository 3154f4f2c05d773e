import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'vitest';
import { parseBerthYml } from '../../../../src/config/schema/berth-yml.ts';
import { parseOodCluster } from '../../../../src/config/schema/ood-cluster-file.ts';
import { parseHookEnv } from '../../../../src/config/schema/hook-env/hook-env.ts';
import { hookEnvSettings } from '../../../../src/config/schema/hook-env/hook-env-settings.ts';
import type { ClusterSettings } from '../../../../src/config/schema/settings.ts';
import type { LoadedSiteSettings } from '../../../../src/config/schema/site-file-contents.ts';
import { siteSettings } from '../../../../src/config/schema/site-settings.ts';
import { parseYaml } from '../../../../src/config/schema/yaml-document.ts';

/** A hook.env with everything that `auth: oidc` needs. */
export const hook = `CLIENT_ID=portal\nCLIENT_SECRET=s3cret\nIDP_ISSUER_URL=https://idp.example.com/realms/main\n`;
export const oidc = 'server: {endpoint: "https://k"}, auth: {type: oidc}';

interface Site {
  readonly berth?: string;
  readonly hookEnv?: string;
  readonly clusters?: Readonly<Record<string, string>>;
  readonly secrets?: Readonly<Record<string, string>>;
}

/** The settings from the texts of a site's files; one cluster `prod` by default. */
export function site({
  berth = '{}',
  hookEnv = hook,
  clusters = { prod: oidc },
  secrets = {},
}: Site): LoadedSiteSettings {
  return siteSettings({
    berth: parseBerthYml(parseYaml(berth, 'berth.yml', 'core'), 'berth.yml'),
    berthFile: 'berth.yml',
    hookEnv: hookEnvSettings(parseHookEnv(hookEnv, 'hook.env'), 'hook.env'),
    hookEnvFile: 'hook.env',
    clusters: Object.entries(clusters).flatMap(([name, job]) => {
      const text = `v2: {job: {adapter: kubernetes, ${job}}}`;
      return parseOodCluster(parseYaml(text, name, 'psych'), name, `clusters.d/${name}.yml`) ?? [];
    }),
    clientFiles: new Map(Object.entries(secrets)),
    warnings: [],
  });
}

/** The settings of the only cluster, which must have no error. */
export function only(input: Site): ClusterSettings {
  const { settings, broken } = site(input);
  expect(broken).toEqual([]);
  const [cluster] = settings.clusters;
  if (cluster === undefined) throw new Error('no cluster');
  return cluster;
}

/** A PEM private key. */
export function ecKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
}
