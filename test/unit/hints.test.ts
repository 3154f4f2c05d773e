import { existsSync, globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { admissionSchema } from '../../src/config/schema/admission-parameters.ts';
import { clusterSchema, siteSchema } from '../../src/config/schema/berth-yml.ts';
import { balancerSchema } from '../../src/config/schema/balancer-yml.ts';
import { ldapSchema } from '../../src/config/schema/ldap-schema.ts';
import { slurmAccountsSchema } from '../../src/companions/slurm-accounts/rules/slurm-accounts-schema.ts';
import { profileSchema } from '../../src/config/schema/profile/profile-schema.ts';
import { sshSchema } from '../../src/config/schema/ssh-settings.ts';
import { hintTexts, type Text } from './hint-texts.ts';

const root = new URL('../..', import.meta.url).pathname;
const { hints: inSources, nextSteps, otherSteps, installed } = hintTexts();
const hints = [...inSources, ...nextSteps, ...otherSteps];

/** Paths of all keys, as `credentials.ca_file`; NAME and [] stand for what the site names. */
function keysOf(schema: z.ZodType, path: readonly string[] = []): string[] {
  return pathsOf(z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }), path);
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

function pathsOf(schema: JsonSchema, path: readonly string[]): string[] {
  const {
    properties = {},
    additionalProperties,
    items,
    anyOf = [],
    allOf = [],
    oneOf = [],
  } = schema;
  const inner: [string[], unknown][] = [
    ...Object.entries(properties).map(([name, value]): [string[], unknown] => [[name], value]),
    [['NAME'], additionalProperties],
    [[], items],
    ...[...anyOf, ...allOf, ...oneOf].map((value): [string[], unknown] => [[], value]),
  ];
  return inner.flatMap(([names, value]) => {
    if (typeof value !== 'object' || value === null) return [];
    const here = [...path, ...names];
    return [here.join('.'), ...pathsOf(value as JsonSchema, here)];
  });
}

const keys = [
  ...keysOf(siteSchema as never),
  ...keysOf(clusterSchema as never, ['clusters', 'NAME']),
  ...keysOf(sshSchema as never),
  ...keysOf(profileSchema as never),
  ...keysOf(ldapSchema as never, ['ldap']),
  ...keysOf(slurmAccountsSchema as never, ['slurm_accounts']),
  ...keysOf(balancerSchema as never),
  ...keysOf(admissionSchema as never),
];
const isKey = (word: string): boolean =>
  keys.some((key) => key === word || key.endsWith(`.${word}`));

/** What others have: OnDemand's, the provider's, PAM's, systemd's and the kernel's own names. */
const others = [
  /^v2\.job\.(?:server\.(?:endpoint|cert_authority_file)|auth\.(?:type|svc_acct_file)|adapter|all_namespaces|bin|mounts|config_file|namespace_prefix)$|^namespace_prefix$/,
  /^(?:(?:v2\.batch_connect\.)?ssh_allow|batch_connect|svc_acct_file|v2\.login(?:\.host)?)$/,
  /^(?:pun_pre_hook_exports|pun_pre_hook_root_cmd|oidc_settings|oidc_scope|update_ood_portal)$/,
  /^(?:mod_auth_openidc|grant_types_supported|jwks_uri|access_token|user_map)$/i,
  /^(?:pam_exec|pam_systemd|pam_mkhomedir|pam_env|user_readenv|pids\.max|kernel\.pty\.max)$/,
  /^(?:min_id|max_id|user_allow_other)$/,
  /^systemd\.unified_cgroup_hierarchy$/,
  /^(?:allow_mail_to_commands|mailbox_(?:command|command_maps|transport))$/,
  /^(?:sshd_config|size\.prtotal|s_client|force_mask|metadata\.finalizers|e\.g)$/,
  /^(?:app\.kubernetes|v5\.channel\.k8s\.io|kube_pod_container_info)$/,
];
/** Files of this suite, of OnDemand, and of the host. */
const files =
  /^(?:berth|ssh|admission|balancer|ood_portal|nginx_stage)\.yml$|^hook\.env$|^clusters\.d$|^(?:auth|config)\.json$|^(?:nsswitch|slurm|sssd)\.conf$|^pam_systemd\.so$|^site\.tar$/;

describe('the next steps of errors and findings', () => {
  it('are found in the sources', () => {
    expect(inSources.length).toBeGreaterThan(250);
    expect(nextSteps.length).toBeGreaterThan(300);
    expect(installed.length).toBeGreaterThan(30);
    expect(isKey('credentials.ca_file')).toBe(true);
    expect(isKey('podman.mount_program')).toBe(true);
    expect(isKey('oidc.caFile')).toBe(false);
  });

  it('are said once: a hint in the sources does not repeat the catalogue', () => {
    const said = new Map(nextSteps.map(({ at, text }) => [text, at]));
    expect(
      inSources.flatMap(({ at, text }) => (said.has(text) ? [[at, said.get(text)]] : [])),
    ).toEqual([]);
  });

  it('name existing files of an installation by their path', () => {
    const relative = /(?<![\w/.$}-])(?:etc|docs|hooks|shell|dist|share)\/[\w.@*/-]+/;
    expect(hints.filter(({ text }) => relative.test(text)).map(said)).toEqual([]);

    // `berth images files` makes that directory.
    const shipped = installed.filter(({ text }) => text !== 'files');
    const missing = shipped.filter(({ text }) => {
      const from = text.replace(/^share\//, '').replace(/^(hooks|shell)\/(.*)$/, '$1/$2.ts');
      return globSync(from, { cwd: root }).length === 0 && !existsSync(root + from);
    });
    expect(missing.map(said)).toEqual([]);
  });

  it('name existing keys of the configuration', () => {
    const dotted = /(?<![\w/.@:<-])(?:[a-z]\w*(?:\.[A-Za-z]\w*)+|[a-z]+_[a-z_]*[a-z])(?![\w/-])/g;
    const unknown = hints.flatMap(({ at, text }) =>
      [...text.matchAll(dotted)]
        .map(([word]) => word)
        .filter((word) => !isKey(word) && !files.test(word))
        .filter((word) => !others.some((pattern) => pattern.test(word)))
        .map((word) => `${at}: ${word}`),
    );
    expect(unknown).toEqual([]);
  });
});

const said = ({ at, text }: Text): string => `${at}: ${text}`;
