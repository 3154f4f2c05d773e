import { backendOf } from '../../sessions/backends/backends.ts';
import { globSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Profile, ProfileRule } from '../../config/schema/profile/profile.ts';
import {
  advice,
  critical,
  type LoginProgram,
  type PathCheck,
  type SshdFinding,
  type SshdSample,
  weakness,
} from './rules/sshd-finding.ts';
import {
  farReaching,
  type FarReaching,
  farReachingAdvice,
} from '../../config/schema/profile/far-reaching.ts';
import { ignoredKeys, ignoredKeysText } from '../../config/schema/profile/ignored-keys.ts';
import { BerthError, expectBerthError } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import type { ResolveConfigPath } from '../../config/load/config-path.ts';
import { loadSshSettings } from '../../config/load/load-ssh-settings.ts';
import { readProgramHead } from './read-config-text.ts';
import { replaceableFindings } from './lint-file-permissions.ts';

/**
 * Berth's login program with all paths that lead to it.
 *
 * @param named Paths in ForceCommand and passwd; some may be links to the login program.
 */
export async function loginProgram(
  path: string,
  named: ReadonlyMap<string, PathCheck>,
): Promise<LoginProgram> {
  const real = await realpath(path).catch(() => path);
  const links = [...named].filter(([, check]) => check.real === real).map(([link]) => link);
  return { path, aliases: [...new Set([real, ...links])].filter((one) => one !== path) };
}

/** Checks the login program, its interpreter, the links to it and every directory above them. */
export async function loginFindings({ path, aliases }: LoginProgram): Promise<SshdFinding[]> {
  const closedBy = 'reinstall it, owned by root, mode 0755';
  let head: string;
  try {
    head = await readProgramHead(path);
  } catch {
    return [weakness('login-missing', `${path} does not exist: no session starts`, closedBy)];
  }
  const findings: SshdFinding[] = [];
  if (((await stat(path)).mode & 0o001) === 0)
    findings.push(
      weakness(
        'login-not-executable',
        `users cannot execute ${path}: no session starts`,
        `chmod 755 ${path}`,
      ),
    );
  // `#!/usr/bin/env -S NODE OPTIONS`, or the program itself after `#!`.
  const [, interpreter, command] = /^#!\s*(\S+)(?:\s+(?:-S\s+)?(\/\S+))?/.exec(head) ?? [];
  for (const program of [path, ...aliases, interpreter, command])
    if (program !== undefined)
      findings.push(...(await replaceableFindings(program, 'login-writable')));
  return findings;
}

/**
 * Finds directories in which a user other than root can create a file that an Include matches.
 *
 * @param pattern Absolute pattern of the Include.
 */
export async function includeFindings(pattern: string): Promise<SshdFinding[]> {
  for (let level = pattern; level !== dirname(level); level = dirname(level)) {
    const [above, name] = [dirname(level), basename(level)];
    for (const directory of wildcard.test(above) ? globSync(above).sort() : [above]) {
      const file = join(directory, wildcard.test(name) ? anyName : name);
      const [finding] = await replaceableFindings(file, 'sshd-config-writable');
      if (finding === undefined) continue;
      const why = finding.message.replace(/^.*?: /, '');
      const message = `users other than root can add a file to Include ${pattern}: ${why}`;
      return [{ ...finding, message }];
    }
  }
  return [];
}

const wildcard = /[*?[]/;
/** Name of a file that does not exist, and that a wildcard matches. */
const anyName = 'berth-lint-any';

export interface LintedSettings {
  readonly sessionNetwork: SshdSample['sessionNetwork'];
  /** `balancers` of ssh.yml. */
  readonly balancers: readonly string[];
  readonly findings: readonly SshdFinding[];
}

/** The networks of the profiles, and findings about ssh.yml and the profiles. */
export async function lintSettings(
  configFile: string,
  overlay?: ResolveConfigPath,
): Promise<LintedSettings> {
  try {
    const { profiles, rules, broken, balancers } = await loadSshSettings({ configFile, overlay });
    // `host` of a pod is the network of its node.
    const others = [...profiles.values()].filter(
      (profile) => !backendOf(profile).runsHere || profile.network !== 'host',
    );
    const known = profiles.size > 0;
    const faults = [...broken.values()]
      .map(({ error }) => error)
      .filter((error) => !known || isUnsafe(error));
    return {
      balancers,
      sessionNetwork: !known ? 'unknown' : { otherProfiles: others.map(({ name }) => name) },
      findings: [
        ...faults.map(faulty),
        ...[...profiles.values()].flatMap((profile) => ignoredKeysFinding(profile, rules)),
        ...[...profiles.values()].flatMap(farReaching).map(farReachingFinding),
        ...(await replaceableFindings(overlay?.(configFile) ?? configFile, 'settings-writable')),
      ],
    };
  } catch (error) {
    expectBerthError(error);
    return {
      balancers: [],
      sessionNetwork: 'unknown',
      findings: error.code === 'config-missing' ? [] : [faulty(error)],
    };
  }
}

function ignoredKeysFinding(profile: Profile, rules: readonly ProfileRule[]): SshdFinding[] {
  const keys = ignoredKeys(profile, rules);
  if (keys === undefined) return [];
  const closedBy = `remove them from the profile; see ${installedPath('share/docs/ssh-profiles.md')}`;
  return [advice('profile-key-ignored', ignoredKeysText(keys), closedBy)];
}

function farReachingFinding({ text }: FarReaching): SshdFinding {
  const code = 'profile-reaches-far';
  return advice(code, text, farReachingAdvice);
}

function isUnsafe({ code }: BerthError): boolean {
  return code === 'config-not-owned-by-root' || code === 'config-writable-by-others';
}

function faulty(error: BerthError): SshdFinding {
  const { message, hint } = error;
  if (!isUnsafe(error))
    return advice(
      'settings-invalid',
      message,
      `correct this first, then run \`berth sshd lint\` again. ${hint}`,
    );
  return critical(
    'settings-writable',
    `${message}: whoever can change this file controls what sessions run`,
    hint,
  );
}
