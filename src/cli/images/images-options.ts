import type { Argv } from 'yargs';
import type { SshSettings } from '../../config/schema/profile/profile.ts';
import { outputOption } from '../kit/report-options.ts';
import { siteFilesOf, type SiteArguments, sshConfigOptions } from '../kit/site-options.ts';

/** Options of each `berth images` command that reads the profiles. */
export interface ImagesArguments extends SiteArguments {
  readonly output: string;
}

export function imagesOptions(yargs: Argv): Argv<ImagesArguments> {
  return yargs.options(sshConfigOptions).option('output', outputOption);
}

/** @throws {BerthError} the errors of `loadSshSettings` */
export async function imageSettings(args: ImagesArguments): Promise<SshSettings> {
  const { loadSshSettings } = await import('../../config/load/load-ssh-settings.ts');
  return await loadSshSettings(await siteFilesOf(args));
}
