import type { SshdFinding } from './sshd-finding.ts';
import { installedPath } from '../installed-path.ts';

/** A line of pam.d(5), after its includes were put in their place. */
export interface PamLine {
  readonly file: string;
  readonly line: number;
  /** `auth`, `account`, `password` or `session`, without the `-` of an optional module. */
  readonly type: string;
  readonly module: string;
  readonly args: readonly string[];
}

export type PamEntry = PamLine | { readonly include: string };

/** Reads a file of /etc/pam.d: `@include FILE`, `type include FILE` and module lines. */
export function parsePam(text: string, file: string): PamEntry[] {
  const lines = text.replaceAll('\\\n', ' \n').split('\n');
  return lines.flatMap((raw, index): PamEntry[] => {
    const bare = raw.replace(/#.*$/, '').trim();
    const included = /^@include\s+(\S+)$/.exec(bare)?.[1];
    if (included !== undefined) return [{ include: included }];
    const [, type, control, module, rest = ''] =
      /^-?(auth|account|password|session)\s+(\[[^\]]*\]|\S+)\s+(\S+)\s*(.*)$/i.exec(bare) ?? [];
    if (type === undefined || control === undefined || module === undefined) return [];
    if (control === 'include' || control === 'substack') return [{ include: module }];
    const args = rest.split(/\s+/).filter((word) => word !== '');
    return [{ file, line: index + 1, type: type.toLowerCase(), module, args }];
  });
}

/** What sshd's PAM stack leaves open, or leaves behind. */
export function pamFindings(lines: readonly PamLine[], file: string): SshdFinding[] {
  const findings: SshdFinding[] = [];
  const userFiles = lines.find(
    ({ module, args }) => /(?:^|\/)pam_env\.so$/.test(module) && args.includes('user_readenv=1'),
  );
  if (userFiles !== undefined)
    findings.push({
      code: 'pam-user-environment',
      severity: 'door',
      message: `~/.pam_environment sets LD_PRELOAD, NODE_OPTIONS or BASH_ENV on the host, for root too where pam_exec runs: ${userFiles.file}:${userFiles.line} has user_readenv=1`,
      closedBy: `user_readenv=0 in line ${userFiles.line} of ${userFiles.file}`,
    });
  const sessions = lines.filter(({ type }) => type === 'session');
  const ours = sessions.findIndex(
    ({ module, args }) =>
      /(?:^|\/)pam_exec\.so$/.test(module) && args.some((word) => /^\/.*\/pam-session$/.test(word)),
  );
  if (ours === -1)
    findings.push({
      code: 'pam-session-missing',
      severity: 'weakness',
      message: `nothing in ${file} ends what a connection started`,
      closedBy: `the lines of ${installedPath('share/etc/pam.d/berth-session')} at its end`,
    });
  const late = sessions
    .slice(ours + 1)
    .find(({ module }) => ours !== -1 && /(?:^|\/)pam_(?:systemd|loginuid)\.so$/.test(module));
  if (late !== undefined)
    findings.push({
      code: 'pam-session-early',
      severity: 'weakness',
      message: `${late.module} comes after pam-session, which needs what it makes`,
      closedBy: `pam-session at the end of ${file}`,
    });
  return findings;
}
