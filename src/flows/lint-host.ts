import { constants } from 'node:fs';
import { access, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type PamEntry, type PamLine, parsePam, pamFindings } from '../config/pam-lines.ts';
import type { Profile, ProfileRule } from '../config/profile.ts';
import type { LoginProgram, SshdFinding, SshdSample } from '../config/sshd-finding.ts';
import type { SshdOptions } from '../config/sshd-options.ts';
import { unheardKeys, unheardText } from '../config/unheard-keys.ts';
import { BerthError, isErrno } from '../errors.ts';
import { loadSshSettings } from './load-ssh-settings.ts';
import { installedPath } from '../installed-path.ts';

/** Berth's login with every name that leads to it. */
export async function loginProgram(path: string): Promise<LoginProgram> {
  const real = await realpath(path).catch(() => path);
  return { path, aliases: real === path ? [] : [real] };
}

/** The login, what runs it, and every folder above: whoever may write there is every user. */
export async function loginFindings({ path }: LoginProgram): Promise<SshdFinding[]> {
  const closedBy = `the file of the installation, root's and mode 0755`;
  let head: string;
  try {
    if (!(await stat(path)).isFile()) throw new Error('no file');
    head = (await readFile(path, 'latin1')).slice(0, 256);
  } catch {
    return [
      {
        code: 'login-missing',
        severity: 'weakness',
        message: `there is no ${path}: nobody whom it is for gets in`,
        closedBy,
      },
    ];
  }
  const findings: SshdFinding[] = [];
  if (((await stat(path)).mode & 0o001) === 0)
    findings.push({
      code: 'login-not-executable',
      severity: 'weakness',
      message: `users cannot run ${path}`,
      closedBy: `chmod 755 ${path}`,
    });
  // `#!/usr/bin/env -S NODE OPTIONS`, or the program itself.
  const [, interpreter, command] = /^#!\s*(\S+)(?:\s+(?:-S\s+)?(\/\S+))?/.exec(head) ?? [];
  for (const program of [path, interpreter, command])
    if (program !== undefined)
      findings.push(...(await writableFindings(program, 'login-writable')));
  return findings;
}

/** `door` where somebody else than root can put another file in this one's place. */
export async function writableFindings(
  path: string,
  code: SshdFinding['code'],
): Promise<SshdFinding[]> {
  for (const place of [path, await realpath(path).catch(() => path)])
    for (let part = place; ; part = dirname(part)) {
      const status = await stat(part).catch(() => undefined);
      // A folder such as /tmp keeps root's files from others by its sticky bit.
      const sticky = part !== place && ((status?.mode ?? 0) & 0o1000) !== 0;
      if (status !== undefined && (status.uid !== 0 || (!sticky && (status.mode & 0o022) !== 0)))
        return [
          {
            code,
            severity: 'door',
            message: `others than root can replace ${place}: ${part} is of UID ${status.uid}, mode ${(status.mode & 0o7777).toString(8).padStart(4, '0')}`,
            closedBy: `chown root:root ${part}; chmod go-w ${part}`,
          },
        ];
      if (part === dirname(part)) break;
    }
  return [];
}

/** Programs that sshd itself runs as root or for each user. */
export async function programFindings(options: SshdOptions): Promise<SshdFinding[]> {
  const { authorizedKeysCommand, x11Forwarding, xauthLocation } = options;
  const programs = [
    authorizedKeysCommand?.split(' ')[0],
    x11Forwarding ? xauthLocation : undefined,
  ];
  const findings: SshdFinding[] = [];
  for (const program of programs)
    if (program !== undefined && (await isThere(program)))
      findings.push(...(await writableFindings(program, 'program-writable')));
  return findings;
}

async function isThere(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
}

/** sshd's PAM stack, with what it includes. */
export async function pamFileFindings(file: string): Promise<SshdFinding[]> {
  const lines: PamLine[] = [];
  const seen = new Set<string>();
  try {
    await read(file);
  } catch (error) {
    if (!isErrno(error)) throw error;
    return [
      {
        code: 'pam-unreadable',
        severity: 'weakness',
        message: `${String(error.path)} cannot be read (${String(error.code)}): what PAM does at login is not known`,
        closedBy: 'the file of the distribution in its place',
      },
    ];
  }
  return [...pamFindings(lines, file), ...(await writableFindings(file, 'program-writable'))];

  async function read(path: string): Promise<void> {
    if (seen.has(path)) return;
    seen.add(path);
    const parsed: PamEntry[] = parsePam(await readFile(path, 'utf8'), path);
    for (const entry of parsed)
      if ('include' in entry) await read(join(dirname(file), entry.include));
      else lines.push(entry);
  }
}

export interface SettingsView {
  readonly sessionNetwork: SshdSample['sessionNetwork'];
  readonly findings: readonly SshdFinding[];
}

/** What the profiles say of the network, and whether anybody else could have written them. */
export async function settingsView(configFile: string): Promise<SettingsView> {
  try {
    const { profiles, rules, broken } = await loadSshSettings({ configFile });
    // What a pod calls the host's network is that of its node.
    const networks = [...profiles.values()].map(({ network, backend }) =>
      backend === 'pod' ? 'other' : network,
    );
    const unsafe = [...broken.values()].map(({ error }) => error).filter(isUnsafe);
    const known = networks.length > 0;
    return {
      sessionNetwork: !known ? 'unknown' : networks.every((n) => n === 'host') ? 'host' : 'other',
      findings: [
        ...unsafe.map(writable),
        ...[...profiles.values()].flatMap((profile) => unheardFinding(profile, rules)),
        ...(await writableFindings(configFile, 'settings-writable')),
      ],
    };
  } catch (error) {
    if (!(error instanceof BerthError)) throw error;
    return { sessionNetwork: 'unknown', findings: isUnsafe(error) ? [writable(error)] : [] };
  }
}

function unheardFinding(profile: Profile, rules: readonly ProfileRule[]): SshdFinding[] {
  const keys = unheardKeys(profile, rules);
  if (keys === undefined) return [];
  const closedBy = `leave them out: ${installedPath('share/docs/ssh-profiles.md')} says which key is for which`;
  return [
    { code: 'profile-key-unheard', severity: 'advice', message: unheardText(keys), closedBy },
  ];
}

function isUnsafe({ code }: BerthError): boolean {
  return code === 'config-foreign-owner' || code === 'config-writable-by-others';
}

function writable({ message, hint }: BerthError): SshdFinding {
  return {
    code: 'settings-writable',
    severity: 'door',
    message: `${message}: it says what each session is made of`,
    closedBy: hint,
  };
}
