import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expectErrno } from '../../system/errors/berth-error.ts';
import { executablePath, processArguments, runningProcesses } from '../../system/processes.ts';
import { kindsDirectory } from '../schema/default-settings.ts';
import type { SshSettings } from '../schema/profile/profile.ts';

/**
 * The settings with the profiles that sessions of this host may have. A profile with pods or jobs that no rule of ssh.yml and no
 * sshd names is for other programs, such as a hub: nothing of it is made ready, asked or checked for sessions.
 */
export function withSessionProfiles<Settings extends Pick<SshSettings, 'profiles' | 'rules'>>(
  settings: Settings,
): Settings {
  const ruled = new Set(settings.rules.map(({ profile }) => profile));
  const all = [...settings.profiles];
  const unruled = all.filter(([name, { backend }]) => backend !== 'podman' && !ruled.has(name));
  const forced = unruled.length === 0 ? undefined : forcedProfiles();
  if (forced === undefined) return settings;
  const unused = new Set(unruled.flatMap(([name]) => (forced.has(name) ? [] : name)));
  return { ...settings, profiles: new Map(all.filter(([name]) => !unused.has(name))) };
}

const directory = '/etc/ssh';

/**
 * The profiles of `--profile` in ForceCommand, in any Match block of any sshd of this host.
 *
 * @returns undefined if not all of it can be read, such as by a user where only root may
 */
function forcedProfiles(): ReadonlySet<string> | undefined {
  const files = new Set([
    `${directory}/sshd_config`,
    ...globSync(`${kindsDirectory}/*.conf`),
    ...runningConfigs(),
  ]);
  const names = new Set<string>();
  try {
    // The set grows while it is read.
    for (const file of files) {
      const text = readFileSync(file, 'utf8');
      for (const [, patterns = ''] of text.matchAll(/^\s*include\s+(.*)$/gim))
        for (const pattern of patterns.replaceAll('"', '').split(/\s+/))
          for (const one of globSync(resolve(directory, pattern))) files.add(one);
      for (const [, name = ''] of text.matchAll(/^\s*forcecommand\b.*--profile[= ]([a-z0-9-]+)/gim))
        names.add(name);
    }
  } catch (error) {
    expectErrno(error);
    return undefined;
  }
  return names;
}

/** Files of `-f` of sshds that run. */
function runningConfigs(): string[] {
  return [...runningProcesses((uid) => uid === 0)].flatMap(({ pid }) => {
    if (executablePath(pid)?.endsWith('/sshd') !== true) return [];
    return / -f ?(\/\S+)/.exec(processArguments(pid).join(' '))?.[1] ?? [];
  });
}
