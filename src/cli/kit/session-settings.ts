import type { SshSettings } from '../../config/schema/profile/profile.ts';
import { siteFilesOf, type SiteArguments } from './site-options.ts';
import { asBerthError, type BerthError } from '../../errors/berth-error.ts';

/** Sessions are listed, and can be ended, with a configuration that has a mistake, too. */
export type SettingsRead =
  | { readonly settings: SshSettings; readonly error?: undefined }
  | { readonly settings?: undefined; readonly error: BerthError };

export async function readSessionSettings(args: SiteArguments): Promise<SettingsRead> {
  const { loadSshSettings } = await import('../../config/load/load-ssh-settings.ts');
  const files = await siteFilesOf(args);
  try {
    return { settings: await loadSshSettings(files) };
  } catch (thrown) {
    return { error: asBerthError(thrown, 'reading ssh.yml') };
  }
}
