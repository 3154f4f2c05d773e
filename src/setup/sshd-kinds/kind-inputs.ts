import { existsSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostPrograms } from '../../config/schema/bundled-transfer-argv.ts';
import { nearestKey } from '../../config/schema/nearest-key.ts';
import { namedProfile } from '../../config/schema/profile/named-profile.ts';
import { usageError } from '../../system/errors/usage-error.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import type { ResolveConfigPath } from '../../config/load/config-path.ts';
import { loadSshSettings } from '../../config/load/load-ssh-settings.ts';
import { isFindingCode, sshdFindingCodes } from '../sshd-lint/rules/sshd-finding.ts';
import { readIfPresent } from '../../system/trusted-text.ts';
import { kindFile, kindNames } from './kind.ts';
import { type KindConfig, type KindMode, kindModeOf } from './rules/kind-config.ts';
import { isKindName } from './rules/kind-problems.ts';

/** The options of `berth sshd new`. */
export interface NewKindOptions {
  readonly name: string;
  readonly port: number;
  /** Default: the mode of this kind, or of the others. */
  readonly mode?: KindMode | undefined;
  readonly profile?: string;
  readonly addresses: readonly string[];
  readonly banner?: string;
  /** Default: those in /etc/ssh. */
  readonly hostKeys: readonly string[];
  /** Codes of critical findings that the admin accepts. */
  readonly accepted: readonly string[];
  /** Path of `ssh.yml`. */
  readonly settings: string;
  /** A configuration to try. */
  readonly overlay?: ResolveConfigPath | undefined;
}

/** Those that sshd itself uses if its configuration names none. */
export const defaultHostKeys = ['ed25519', 'ecdsa', 'rsa'].map(
  (type) => `/etc/ssh/ssh_host_${type}_key`,
);

/**
 * Checks the options, and finds what was not given on this host.
 *
 * @throws {BerthError} `usage`, `sshd-kind-name-invalid`, `profile-missing`, `profile-invalid`, `host-key-missing`, and
 *   those of `loadSshSettings`
 */
export async function kindConfigOf(options: NewKindOptions): Promise<Omit<KindConfig, 'limits'>> {
  const { name, port, addresses, profile, banner, accepted } = options;
  assertKindName(name);
  const mode = options.mode ?? presentMode(name);
  if (profile !== undefined && mode === 'login-shell')
    throw usage(
      `--profile ${profile}: where Berth is the login shell, the rules of ssh.yml choose the profile`,
      `Leave it out, and write \`rules: [{ profile: ${profile}, ports: [${port}] }]\` into ssh.yml. For users with another shell: --mode forced.`,
    );
  for (const address of addresses)
    if (isIP(address) === 0) throw usage(`--address ${address}: not an IP address`);
  for (const code of accepted)
    if (!isFindingCode(code)) {
      const near = nearestKey(code, sshdFindingCodes);
      throw usage(
        `--accept ${code}: the linter has no such finding`,
        near === undefined
          ? '`berth sshd lint` prints the code of each finding.'
          : `Did you mean ${near}?`,
      );
    }
  if (profile !== undefined) await assertProfile(profile, options);
  if (banner !== undefined) assertFile('banner', banner);
  for (const file of options.hostKeys) assertFile('host-key', file);
  const hostKeys =
    options.hostKeys.length > 0
      ? options.hostKeys
      : defaultHostKeys.filter((key) => existsSync(key));
  if (hostKeys.length === 0)
    throw new BerthError('host-key-missing', 'there is no host key in /etc/ssh');
  return {
    name,
    mode,
    port,
    addresses,
    hostKeys,
    accepted,
    profile,
    banner,
    hostCertificates: hostKeys.map((key) => `${key}-cert.pub`).filter((file) => existsSync(file)),
    login: installedPath('shell/login'),
    sftpServer:
      hostPrograms['sftp-server'].find((path) => existsSync(path)) ??
      '/usr/lib/openssh/sftp-server',
  };
}

/** The mode of this kind, or the one that all others have. */
function presentMode(name: string): KindMode {
  const modeOf = (kind: string) => kindModeOf(readIfPresent(kindFile(kind)) ?? '');
  const [first, ...others] = new Set(kindNames().map(modeOf));
  return modeOf(name) ?? (others.length === 0 ? first : undefined) ?? 'forced';
}

/** @throws {BerthError} `sshd-kind-name-invalid` */
function assertKindName(name: string): void {
  if (isKindName(name)) return;
  throw new BerthError(
    'sshd-kind-name-invalid',
    `${JSON.stringify(name)} cannot be the name of a kind of session`,
  );
}

async function assertProfile(
  profile: string,
  { settings, overlay }: NewKindOptions,
): Promise<void> {
  namedProfile(await loadSshSettings({ configFile: settings, overlay }), profile);
}

/** sshd_config(5) has no way to write some characters. */
function assertFile(option: string, file: string): void {
  if (!/^\/[^\s"'#\\]+$/.test(file))
    throw usage(`--${option} ${file}: must be an absolute path without blanks and quotes`);
  if (!(statSync(file, { throwIfNoEntry: false })?.isFile() ?? false))
    throw usage(`--${option} ${file}: no such file`);
}

function usage(message: string, hint?: string): BerthError {
  return hint === undefined
    ? usageError('berth sshd new', message)
    : new BerthError('usage', message, { hint });
}
