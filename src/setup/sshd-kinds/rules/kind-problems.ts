import { kindsDirectory } from '../../../config/schema/default-settings.ts';
import { countText } from '../../../system/text/count-text.ts';
import { installedPath } from '../../../system/program/installed-path.ts';
import { endReason, type HostCertificate } from './host-certificate.ts';

/** What is wrong with a kind of session. Monitoring may rely on the code. */
export interface KindProblem {
  readonly code: string;
  readonly message: string;
  readonly next: string;
}

/** What `kindProblems` judges. */
export interface KindState {
  readonly name: string;
  readonly unit: {
    readonly unit: 'known' | 'absent' | 'none';
    readonly active: string;
    readonly enabled: boolean;
  };
  /** The listening sshd with this configuration. */
  readonly running?: { readonly program: string; readonly pid: number };
  /** Ports of the configuration on which no program listens. */
  readonly silentPorts: readonly number[];
  /** Files that changed after sshd read them. */
  readonly changedFiles: readonly string[];
  /** Other configurations that name the same port, with the port. */
  readonly samePort: readonly { readonly file: string; readonly port: number }[];
  readonly certificates: readonly CertificateState[];
  /** Whether `berth node drain` has stopped the listeners. */
  readonly drained: boolean;
}

interface CertificateState {
  readonly file: string;
  /** Fingerprints of the kind's host keys. */
  readonly keys: readonly string[];
  /** Undefined if the file is not a certificate of a host. */
  readonly certificate?: HostCertificate;
}

/**
 * Problems of a kind, the most severe first.
 *
 * @param now milliseconds since the epoch
 * @param hostname what users type, if a balancer is configured
 */
export function kindProblems(
  state: KindState,
  { now, hostname }: { readonly now: number; readonly hostname?: string | undefined },
): KindProblem[] {
  return [
    ...unitProblems(state),
    ...listenerProblems(state),
    ...state.certificates.flatMap((one) => certificateProblems(one, now, hostname)),
  ];
}

function unitProblems({ name, unit, drained, running }: KindState): KindProblem[] {
  const service = `berth-sshd@${name}`;
  if (unit.unit === 'none')
    return running !== undefined || drained
      ? []
      : [
          {
            code: 'sshd-not-running',
            message: 'no sshd runs with this configuration',
            next: `Run \`${startCommand(name)}\`.`,
          },
        ];
  if (unit.unit === 'absent')
    return [
      {
        code: 'unit-missing',
        message: `systemd has no unit ${service}`,
        next: `Run \`cp ${installedPath('share/etc/systemd/berth-sshd@.service')} /etc/systemd/system/\`, then \`systemctl daemon-reload\`.`,
      },
    ];
  const problems: KindProblem[] = [];
  if (unit.active !== 'active' && !drained)
    problems.push({
      code: 'unit-not-active',
      message:
        running === undefined
          ? `${service} is ${unit.active}`
          : `${service} is ${unit.active}, and an sshd that it did not start uses its configuration`,
      next: `Run \`systemctl status ${service}\`, then \`systemctl start ${service}\`.`,
    });
  if (!unit.enabled)
    problems.push({
      code: 'unit-not-enabled',
      message: `${service} does not start at boot`,
      next: `Run \`systemctl enable ${service}\`.`,
    });
  return problems;
}

function listenerProblems(state: KindState): KindProblem[] {
  const { name, unit, running, silentPorts, changedFiles, samePort } = state;
  const service = `berth-sshd@${name}`;
  const restart = `Run \`kill ${running?.pid}\`, then \`${startCommand(name)}\`; open sessions continue.`;
  const problems: KindProblem[] = samePort.map(({ file, port }) => ({
    code: 'port-named-twice',
    message: `${file} also names port ${port}`,
    next: 'Change the port in one of the two files: only the sshd that starts first gets it.',
  }));
  // One port at several addresses.
  const silent = [...new Set(silentPorts)];
  if (silent.length > 0 && (unit.active === 'active' || running !== undefined))
    problems.push({
      code: 'port-silent',
      message: `nothing listens on ${silent.length === 1 ? 'port' : 'ports'} ${silent.join(', ')}`,
      next: unit.unit === 'none' ? restart : reload(service),
    });
  if (running === undefined) return problems;
  const next =
    unit.unit === 'none'
      ? { reload: reloadOf(running.pid), restart }
      : { reload: reload(service), restart: restartUnit(service) };
  return [...problems, ...processProblems({ program: running.program, changedFiles, next })];
}

/**
 * Problems of an sshd that is running, of a kind or the host's own.
 *
 * @param sshd its program as /proc names it, the files that changed after it read them, and how it is reloaded and restarted
 */
export function processProblems({
  program,
  changedFiles,
  next,
}: {
  readonly next: { readonly reload: string; readonly restart: string };
  readonly program: string;
  readonly changedFiles: readonly string[];
}): KindProblem[] {
  const problems: KindProblem[] = [];
  if (changedFiles.length > 0)
    problems.push({
      code: 'settings-not-loaded',
      message: `sshd still uses the contents that ${changedFiles.join(', ')} had before the last change`,
      next: next.reload,
    });
  if (program.endsWith(' (deleted)'))
    problems.push({
      code: 'program-replaced',
      message: 'sshd was replaced by an update, and the old one is still running',
      next: next.restart,
    });
  return problems;
}

export function reload(service: string): string {
  return `Run \`systemctl reload ${service}\`; open sessions continue.`;
}

export function restartUnit(service: string): string {
  return `Run \`systemctl restart ${service}\`; open sessions continue.`;
}

/** Without systemd. */
function reloadOf(pid: number): string {
  return `Run \`kill -HUP ${pid}\`; open sessions continue. If this stays, start sshd with \`-o PidFile=FILE\`, by which it shows that it has read its files again.`;
}

/** Starts the sshd of a kind without systemd; by its PidFile, `berth sshd check` knows when it was reloaded. */
export function startCommand(name: string): string {
  return `mkdir -p /run/sshd && /usr/sbin/sshd -f ${kindsDirectory}/${name}.conf -o PidFile=/run/berth-sshd-${name}.pid`;
}

function certificateProblems(
  { file, keys, certificate }: CertificateState,
  now: number,
  hostname: string | undefined,
): KindProblem[] {
  const next =
    'Run `berth sshd certify` for this key where the CA is, copy the certificate here, and reload sshd.';
  const problem = (code: string, message: string): KindProblem[] => [{ code, message, next }];
  if (certificate === undefined)
    return problem('certificate-invalid', `${file} is not the certificate of a host key`);
  if (!keys.includes(certificate.key))
    return problem('certificate-other-key', `${file} is for none of this kind's host keys`);
  const end = endReason(certificate, now);
  if (end === 'expired')
    return problem('certificate-expired', `${file} has expired: clients ask about the host key`);
  const days = Math.floor((certificate.until - now) / 86_400_000);
  return [
    ...(end === undefined
      ? []
      : problem('certificate-ends-soon', `${file} expires in ${daysText(days)}`)),
    ...(hostname === undefined || certificate.principals.includes(hostname)
      ? []
      : problem('certificate-principals', `${file} is not for ${hostname}, which users type`)),
  ];
}

function daysText(days: number): string {
  if (days < 1) return 'less than a day';
  return countText(days, 'day');
}

/**
 * Checks the name of a kind: the NAME of berth-sshd@NAME.service and of /etc/ssh/berth/NAME.conf. systemd would
 * escape other characters, and a path could leave the directory.
 */
export function isKindName(name: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,39}$/.test(name);
}
