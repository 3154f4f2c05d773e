import { glob, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Profile, ProfileRule } from '../config/profile/profile.ts';
import type { LoginProgram, PathCheck, SshdFinding, SshdSample } from './rules/finding.ts';
import { unheardKeys, unheardText } from '../config/profile/ignored-keys.ts';
import { BerthError } from '../errors.ts';
import { installedPath } from '../installed-path.ts';
import { loadSshSettings } from '../settings/load-ssh.ts';
import { lintedHead } from './linted-text.ts';
import { writableFindings } from './lint-writable.ts';

/**
 * Berth's login with every name that leads to it.
 *
 * @param named what ForceCommand and passwd name: links to the login are among it
 */
export async function loginProgram(
  path: string,
  named: ReadonlyMap<string, PathCheck>,
): Promise<LoginProgram> {
  const real = await realpath(path).catch(() => path);
  const links = [...named].filter(([, check]) => check.real === real).map(([link]) => link);
  return { path, aliases: [...new Set([real, ...links])].filter((one) => one !== path) };
}

/** The login, what leads to it, what runs it, and every folder above: whoever may write there is every user. */
export async function loginFindings({ path, aliases }: LoginProgram): Promise<SshdFinding[]> {
  const closedBy = `the file of the installation, root's and mode 0755`;
  let head: string;
  try {
    head = await lintedHead(path);
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
  for (const program of [path, ...aliases, interpreter, command])
    if (program !== undefined)
      findings.push(...(await writableFindings(program, 'login-writable')));
  return findings;
}

/**
 * Folders in which somebody else than root can put a file that an Include takes: one that matches the pattern,
 * and each that is on the way to such a file.
 *
 * @param pattern of Include, absolute
 */
export async function includeFindings(pattern: string): Promise<SshdFinding[]> {
  for (let level = pattern; level !== dirname(level); level = dirname(level)) {
    const [above, name] = [dirname(level), basename(level)];
    for (const folder of wildcard.test(above) ? await matching(above) : [above]) {
      const file = join(folder, wildcard.test(name) ? anyName : name);
      const [finding] = await writableFindings(file, 'sshd-config-writable');
      if (finding === undefined) continue;
      const why = finding.message.replace(/^.*?: /, '');
      return [
        { ...finding, message: `others than root can add a file to Include ${pattern}: ${why}` },
      ];
    }
  }
  return [];
}

const wildcard = /[*?[]/;
/** A file that is not there, and that a wildcard would take. */
const anyName = 'berth-lint-any';

async function matching(pattern: string): Promise<string[]> {
  const found: string[] = [];
  for await (const path of glob(pattern)) found.push(path);
  return found.sort();
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
