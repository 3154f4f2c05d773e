import { asMapping } from '../../system/text/mapping.ts';
import { readIfPresent } from '../../system/trusted-text.ts';
import { configError } from '../schema/config-error.ts';
import { type PortalConfig, portalFromApache, portalFromYaml } from '../schema/portal-config.ts';
import { parseYaml } from '../schema/yaml-document.ts';

export interface ApacheFiles {
  readonly module: string;
  readonly portal: string;
}

/** OnDemand's portal as its own file says, and as Apache reads it. */
export interface PortalSources {
  readonly file: string;
  readonly yml?: PortalConfig;
  readonly apache?: PortalConfig;
}

/** The file of mod_auth_openidc, and what OnDemand's generator writes: on Debian, and elsewhere. */
export const apacheFiles: readonly ApacheFiles[] = [
  {
    module: '/etc/apache2/mods-enabled/auth_openidc.conf',
    portal: '/etc/apache2/sites-available/ood-portal.conf',
  },
  {
    module: '/etc/httpd/conf.d/auth_openidc.conf',
    portal: '/etc/httpd/conf.d/ood-portal.conf',
  },
];

/** @throws BerthError those of `readIfPresent` and `parseYaml` */
export function readPortal(file: string, candidates = apacheFiles): PortalSources {
  const text = readIfPresent(file);
  const apache = candidates.flatMap(({ module, portal }) => {
    const generated = readIfPresent(portal);
    return generated === undefined
      ? []
      : portalFromApache([readIfPresent(module) ?? '', generated]);
  })[0];
  return {
    file,
    ...(text !== undefined && { yml: portalFromYaml(portalYml(text, file)) }),
    apache,
  };
}

function portalYml(text: string, file: string): unknown {
  const document = parseYaml(text, file, 'psych');
  if (document === null || asMapping(document) !== undefined) return document;
  const hint = 'The file must start with KEY: VALUE lines.';
  throw configError('config-yaml-invalid', file, 'the file is not a YAML mapping', hint, {
    line: 1,
    column: 1,
  });
}
