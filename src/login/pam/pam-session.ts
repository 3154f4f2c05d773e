import { backendsIn } from '../../sessions/backends/backends.ts';
import { updateSshSettingsCache } from '../../config/load/load-ssh-settings.ts';
import { runDir } from '../../config/schema/default-settings.ts';
import type { SshSettings } from '../../config/schema/profile/profile.ts';
import { connectionId } from '../../sessions/connections/connection-record.ts';
import { leaveSessionScope } from '../../sessions/connections/connection-cgroup.ts';
import { callingMonitor } from '../../sessions/connections/sshd-monitor.ts';
import {
  type PamItems,
  registerConnection,
} from '../../sessions/connections/register-connection.ts';
import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import { lookupUser, type User } from '../../system/identity/nss.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import type { Logger } from '../../log.ts';
import { sessionId } from '../../system/program/session-id.ts';
import type { EventSpool } from '../../system/event-spool.ts';
import { fileIdentity } from '../../system/config-files.ts';
import { endpointText } from '../../system/tcp-table.ts';

export interface PamSessionInput {
  /** `[open|close] [--config FILE] [--host-processes]`, from the lines of /etc/pam.d/sshd. */
  readonly args: readonly string[];
  /** The environment that pam_exec(8) sets. */
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** PID of the parent now: of sshd's monitor, the same at open and at close, unless that was killed. */
  readonly parent: () => number;
  readonly log: Logger;
  readonly spool: EventSpool;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called before a request to a cluster, which may take longer than the usual time limit. */
  readonly onSlow: () => void;
}

/**
 * The session hook of sshd's PAM stack: records a connection at open and ends what it started at close. It
 * runs at every login on the host, and returns at once for users who are in the groups of no
 * profile; a profile without groups is for everybody.
 *
 * @returns The exit code. A login does not fail because of it if the line in /etc/pam.d says `optional`.
 */
export async function pamSession(input: PamSessionInput): Promise<number> {
  const { env, log } = input;
  const { PAM_USER: name = '', PAM_SERVICE: service = '' } = env;
  let step = env.PAM_TYPE?.replace('_session', '');
  try {
    if (process.geteuid?.() !== 0)
      throw new BerthError('not-root', 'pam-session must be run by PAM, as root');
    const options = parseOptions(input.args);
    // PAM_TYPE is not trusted alone: users can set it where pam_env reads ~/.pam_environment.
    step = options.step ?? step;
    const { config: configFile = '/etc/berth/ssh.yml', hostProcesses } = options;
    // The stack may be included by others, such as sudo and cron, which start no SSH connection.
    if (!service.startsWith('ssh') || fileIdentity(configFile) === 'absent') return 0;
    const pam = { service, rhost: env.PAM_RHOST ?? '', tty: env.PAM_TTY ?? '' };
    if (step === 'open') return await open({ ...input, name, pam, configFile, hostProcesses });
    if (step === 'close') {
      const { pamClose } = await import('./pam-close.ts');
      const sshConnection = env.SSH_CONNECTION;
      return await pamClose({ ...input, name, configFile, run: runDir, sshConnection });
    }
    return 0;
  } catch (thrown) {
    const error = asBerthError(thrown, 'pam-session');
    log.error(error, { user: name, step });
    return error.exitCode;
  }
}

interface OpenInput extends PamSessionInput {
  readonly name: string;
  readonly pam: PamItems;
  readonly configFile: string;
  readonly hostProcesses: boolean;
}

async function open(input: OpenInput): Promise<number> {
  const { name, pam, configFile, hostProcesses } = input;
  if (name === 'root') return 0;
  const user = lookupUser(name, { minimumUid: 1 });
  const { settings } = await updateSshSettingsCache({ configFile }, input.now());
  if (!mayGetProfile(settings, user)) return 0;
  await leaveSessionScope();
  const monitor = callingMonitor(input.parent);
  const session = sessionId(connectionId(monitor));
  const log = input.log.with({ user: name, session });
  const site = { settings, run: runDir, log, now: input.now, session };
  const prepared = backendsIn(settings).flatMap((one) => one.prepareLogin?.bind(one) ?? []);
  const isSlow = prepared.length > 0;
  if (isSlow) input.onSlow();
  const opened = await registerConnection({
    pam,
    user,
    monitor,
    run: runDir,
    hostProcesses,
    storage: settings.storage,
    nsenter: settings.podman.nsenter,
    balancerLog: settings.balancerLog,
    sshConnection: input.env.SSH_CONNECTION,
    now: Math.floor(input.now() / 1000),
    timeoutMs: isSlow ? 6_000 : 2_500,
  });
  for (const prepare of prepared) {
    // The connection is open all the same.
    const failed = await prepare(site, user).catch((thrown: unknown) => [
      asBerthError(thrown, 'preparing the session'),
    ]);
    for (const error of failed) log.error(error);
  }
  if (opened.record.placesUnknown === true)
    log.warning('the address of the client was not looked up: too many TCP connections');
  const { client, peer, local } = opened.record;
  // Behind a balancer, `peer` is the address that the balancer's log calls `source` and `source_port`; `client` is read
  // from that line of the log, if it is there yet.
  log.info('session opened', {
    rhost: pam.rhost,
    ...(client && { client: endpointText(client) }),
    ...(peer && { peer: endpointText(peer) }),
    ...(local && { port: local.port }),
  });
  return 0;
}

/** Whether the user may get a profile, by a rule or by `--profile` in a Match block. */
function mayGetProfile({ profiles, broken }: SshSettings, user: User): boolean {
  return [...profiles.values(), ...broken.values()].some(
    ({ groups }) =>
      groups === undefined ||
      groups.some((group) => {
        const gid = groupId(group);
        return gid !== undefined && user.groups.includes(gid);
      }),
  );
}

interface Options {
  readonly step?: string;
  readonly config?: string;
  readonly hostProcesses: boolean;
}

/** Not node:util's parseArgs, which takes a millisecond to load. */
function parseOptions(args: readonly string[]): Options {
  let options: Options = { hostProcesses: false };
  for (let at = 0; at < args.length; at += 1) {
    const [arg = '', value] = args.slice(at);
    if (arg === 'open' || arg === 'close') options = { ...options, step: arg };
    else if (arg === '--host-processes') options = { ...options, hostProcesses: true };
    else if (arg === '--config' && value?.startsWith('/') === true) {
      options = { ...options, config: value };
      at += 1;
    } else
      throw new BerthError(
        'usage',
        `pam-session: ${arg === '--config' ? `${arg} needs an absolute path` : `unknown argument ${arg}`}`,
        {
          hint: `pam-session [open|close] [--config /FILE] [--host-processes]; see ${installedPath('share/etc/pam.d/berth-session')}.`,
        },
      );
  }
  return options;
}

/**
 * The GID of a group from NSS (files, LDAP, sssd), without starting a process: `setegid(name)` calls glibc's getgrnam, and
 * treats a string as a name even if it consists of digits. Only for root; the process is in that group for some
 * microseconds.
 *
 * @returns undefined if there is no such group
 */
function groupId(name: string): number | undefined {
  const before = process.getegid?.() ?? 0;
  try {
    process.setegid?.(name);
    return process.getegid?.();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_UNKNOWN_CREDENTIAL')
      return undefined;
    throw error;
  } finally {
    process.setegid?.(before);
  }
}
