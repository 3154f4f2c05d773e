import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'dotenv';
import { parseYaml } from '../../config/schema/yaml-document.ts';
import { mappingOrEmpty } from '../../system/text/mapping.ts';
import { readIfPresent } from '../../system/trusted-text.ts';

/** A variable of OnDemand's dashboard: its value, or what computes it. */
export type PortalVariable = { readonly file: string } & (
  { readonly value: string } | { readonly computedBy: string }
);

export type PortalEnvironment = ReadonlyMap<string, PortalVariable>;

const dashboard = '/var/www/ood/apps/sys/dashboard';

/** OnDemand's own directory: usually that of clusters.d. Undefined on a host without OnDemand. */
export function ondemandDirectory(clustersDir: string): string | undefined {
  const all = [dirname(clustersDir), '/etc/ood/config'];
  return all.find((directory) => existsSync(join(directory, 'ood_portal.yml')));
}

/**
 * What sets the environment of OnDemand's dashboard, and which file counts: load_dotenv_files of its
 * configuration_singleton.rb, for which the environment of the user's nginx (nginx_stage) is there already.
 *
 * @param directory OnDemand's, with nginx_stage.yml
 * @throws BerthError those of `readIfPresent` and `parseYaml`
 */
export function portalEnvironment(directory: string): PortalEnvironment {
  const local = ['.env.production.local', '.env.local'].map((name) => join(dashboard, name));
  const nginx = nginxVariables(join(directory, 'nginx_stage.yml'));
  const early = firstOfEach([nginx, ...local.map(dotenvVariables)]);
  const root = early.get('OOD_APP_CONFIG_ROOT');
  const config =
    root !== undefined && 'value' in root ? root.value : join(directory, 'apps/dashboard');
  const others = [join(config, 'env'), join(dashboard, '.env.production'), join(dashboard, '.env')];
  const overloads = [...local, ...others].map((file) => dotenvVariables(`${file}.overload`));
  return firstOfEach([...overloads, early, ...others.map(dotenvVariables)]);
}

function firstOfEach(all: readonly PortalEnvironment[]): PortalEnvironment {
  return new Map(all.toReversed().flatMap((one) => [...one]));
}

function dotenvVariables(file: string): PortalEnvironment {
  const variables = Object.entries(parse(readIfPresent(file) ?? ''));
  return new Map(
    variables.map(([name, value]) => [
      name,
      // Ruby's dotenv runs it, unless it is in single quotes, which are gone here.
      value.includes('$(') ? { file, computedBy: `the command in ${value}` } : { file, value },
    ]),
  );
}

/** Variables that are declared come from the profile, and have precedence. */
function nginxVariables(file: string): PortalEnvironment {
  const stage = mappingOrEmpty(parseYaml(readIfPresent(file) ?? '', file, 'psych'));
  const { pun_custom_env: custom, pun_custom_env_declarations: declared } = stage;
  const names = Array.isArray(declared) ? declared : [];
  return new Map<string, PortalVariable>([
    ...Object.entries(mappingOrEmpty(custom)).map(
      ([name, value]) => [name, { file, value: String(value) }] as const,
    ),
    ...names.map(
      (name) =>
        [
          String(name),
          { file, computedBy: '/etc/ood/profile (pun_custom_env_declarations)' },
        ] as const,
    ),
  ]);
}
