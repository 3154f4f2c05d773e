import type { SshSettings } from '../config/profile/profile.ts';
import { asBerthError, type BerthError } from '../errors.ts';

/** Sessions are listed, and can be ended, with a configuration that has a mistake, too. */
export type SettingsRead =
  | { readonly settings: SshSettings; readonly error?: undefined }
  | { readonly settings?: undefined; readonly error: BerthError };

/** @param config default: /etc/berth/ssh.yml */
export async function readSessionSettings(config: string | undefined): Promise<SettingsRead> {
  const { loadSshSettings } = await import('../settings/load-ssh-settings.ts');
  try {
    return { settings: await loadSshSettings({ configFile: config ?? '/etc/berth/ssh.yml' }) };
  } catch (thrown) {
    return { error: asBerthError(thrown, 'reading ssh.yml') };
  }
}
