import { isUnchanged, withChecksum } from '../../../system/text/checksum-line.ts';
import { enoughStartups } from '../../sshd-lint/rules/balancer-findings.ts';

/** How the login program gets the user's request: `etc/sshd/forced-command.conf` or `etc/sshd/login-shell.conf`. */
export const kindModes = ['forced', 'login-shell'] as const;
export type KindMode = (typeof kindModes)[number];

/** What `berth sshd new` puts into a configuration of sshd. */
export interface KindConfig {
  readonly name: string;
  readonly mode: KindMode;
  readonly port: number;
  /** IP addresses; none means all. */
  readonly addresses: readonly string[];
  /** For `forced`. */
  readonly profile?: string;
  /** Absolute paths, which need no quotes. */
  readonly banner?: string;
  readonly hostKeys: readonly string[];
  readonly hostCertificates: readonly string[];
  /** Path of Berth's login program. */
  readonly login: string;
  /** Path of sftp-server on this host. */
  readonly sftpServer: string;
  /** Lines of sshd_config(5) for an sshd behind balancers. */
  readonly limits: readonly string[];
  /** Codes of the linter that the admin accepts. */
  readonly accepted: readonly string[];
}

/** In the file's first line. */
const mark =
  '# Made by `berth sshd new`. You may edit it: it is then replaced with --overwrite only.';

/** Whether `berth sshd new` has made it, and nobody has edited it since. */
export function isUneditedKind(text: string): boolean {
  return isUnchanged(mark, text);
}

/** The mode of a configuration that `berth sshd new` has made. */
export function kindModeOf(text: string): KindMode | undefined {
  const [, written] = /^# sshd of \S+ \(([a-z-]+)\)\.$/m.exec(text) ?? [];
  return kindModes.find((mode) => mode === written);
}

/** In the file, before the codes that the admin accepts. */
const acceptance = '# berth-accepts: ';

/**
 * The configuration of one kind of session: the shipped example with its own port, keys and profile.
 *
 * @param template text of the example for the mode
 */
export function kindConfigText(template: string, kind: KindConfig): string {
  const { name, mode, port, addresses, profile, banner, hostKeys, hostCertificates } = kind;
  const login = profile === undefined ? kind.login : `${kind.login} --profile ${profile}`;
  const head = [
    `# sshd of berth-sshd@${name}.service (${mode}).`,
    `# After a change: berth sshd check ${name} && systemctl reload berth-sshd@${name}`,
    ...(kind.accepted.length === 0 ? [] : [`${acceptance}${kind.accepted.join(' ')}`]),
    '',
    `Port ${port}`,
    ...addresses.map((address) => `ListenAddress ${address}`),
    // systemd knows the process, and the default is the file of the host's own sshd.
    'PidFile none',
    ...hostKeys.map((file) => `HostKey ${file}`),
    ...hostCertificates.map((file) => `HostCertificate ${file}`),
    ...(banner === undefined ? [] : [`Banner ${banner}`]),
    ...kind.limits,
    '',
  ];
  const body = `${head.join('\n')}\n${bodyOf(template).trimEnd()}`
    .replace(/^ForceCommand .*$/m, `ForceCommand ${login}`)
    .replace(/^Subsystem sftp .*$/m, `Subsystem sftp ${kind.sftpServer}`)
    .replaceAll('/usr/lib/berth/shell/login', kind.login);
  return withChecksum(mark, body);
}

/** The example without the comment at its beginning, which is about /etc/ssh/sshd_config. */
function bodyOf(template: string): string {
  return template.replace(/^(?:#.*\n)+\n/, '');
}

/** The codes of the linter that the admin accepts in this file. */
export function acceptedCodes(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith(acceptance))
    .flatMap((line) => line.slice(acceptance.length).trim().split(/\s+/));
}

/**
 * What sshd_config needs behind balancers that do not keep the client's address.
 *
 * @param version what `sshd -V` prints. Without a version, only what every sshd accepts is written.
 */
export function balancerLimitLines(balancers: readonly string[], version: string): string[] {
  const [, major, minor] = /OpenSSH_(\d+)\.(\d+)/.exec(version) ?? [];
  // PerSourcePenalties came with 9.8; an older sshd refuses the keyword.
  const punishes = Number(major) > 9 || (Number(major) === 9 && Number(minor) >= 8);
  return [
    enoughStartups,
    ...(punishes ? [`PerSourcePenaltyExemptList ${balancers.join(',')}`] : []),
  ];
}
