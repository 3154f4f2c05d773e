import { issuerOption } from '../../config/schema/issuer-url.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { asInstalled } from '../../config/load/config-path.ts';
import { SiteFilesReader } from '../../config/load/read-site-files.ts';

/**
 * The site's own issuer: `defaults.credentials.issuer` of berth.yml, or else that of hook.env. Neither file has to exist.
 *
 * @throws BerthError as `readSiteFiles`
 */
export function readSiteProvider(
  configFile: string,
  uid: number,
): { readonly issuer?: string; readonly audience?: string } {
  const reader = new SiteFilesReader(uid, asInstalled);
  const { defaults, hook_env: named } = reader.berthYml(configFile, false).berth;
  const { issuer: url, client_id: id, audience: given } = defaults?.credentials ?? {};
  const own = issuerOption(url);
  const hookEnv = named === null ? undefined : hookEnvOf(reader, named);
  const issuer = own ?? hookEnv?.issuer;
  const audience = given ?? id ?? hookEnv?.clientId;
  return {
    issuer,
    audience,
  };
}

/** @returns undefined if there is none */
function hookEnvOf(
  reader: SiteFilesReader,
  named: string | undefined,
): ReturnType<SiteFilesReader['hookEnv']> {
  try {
    return reader.hookEnv(reader.hookEnvFile(named), true);
  } catch (error) {
    if (error instanceof BerthError && error.code === 'config-missing') return undefined;
    throw error;
  }
}
