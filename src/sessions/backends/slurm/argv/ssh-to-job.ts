import type { ProgramCall } from '../../../../system/program/program-call.ts';
import { sessionId, sessionVariable } from '../../../../system/program/session-id.ts';
import type { SessionRequest } from '../../../request/session-request.ts';
import { sourceText } from '../../../../system/program/source-text.ts';
import { allocationFiles } from './allocation-script.ts';
import { parsedJson } from '../../../../system/text/parsed-json.ts';

/** A running allocation. */
export interface JobAddress {
  readonly node: string;
  readonly port: number;
  /** Directory with its keys. */
  readonly directory: string;
}

/** What the second connection carries on. */
export interface Carried {
  /** The umask of the login (pam_umask). */
  readonly umask: number;
  /** Variables of the session. */
  readonly env: Readonly<Record<string, string>>;
  /** What the job's gate wants to hear first. */
  readonly word: string;
  /** File for the client's own messages; default: standard error. */
  readonly log?: string;
  /** ID of the connection on this host, by which a cleanup finds the client. */
  readonly connection?: string | undefined;
  /** Path of the agent's socket on this host. */
  readonly agent?: string | undefined;
  /** sshd's display on this host, with the user's Xauthority file. */
  readonly x11?: { readonly display: string; readonly authority: string } | undefined;
}

/** Prefix of the session's variables on their way, where neither ssh(1) nor the loader of programs reads them. */
const prefix = 'BERTH_ENV_';

/** Functions of the client whose messages do not depend on the level. */
const verbose = ['client_loop():', 'server_alive_check():'];
const logVerbose = {
  IgnoreUnknown: 'LogVerbose',
  LogVerbose: verbose.map((name) => `*:${name}*`).join(),
};

const dial = sourceText('./dial.py', import.meta.url);

/** What it says after the words of dial.py. */
const noise = [
  ...verbose.map((name) => `:${name}`),
  'mm_receive_fd: ',
  'proxy dialer did not pass back a connection',
];

/** OpenSSH's client to the sshd of the user's job: it reads no file but the keys of the allocation. */
export function sshToJob(
  user: string,
  { node, port, directory }: JobAddress,
  request: SessionRequest,
  { umask, env, agent, x11, connection, word, log }: Carried,
): ProgramCall {
  const options = {
    BatchMode: 'yes',
    IdentitiesOnly: 'yes',
    IdentityFile: `${directory}/${allocationFiles.clientKey}`,
    UserKnownHostsFile: `${directory}/${allocationFiles.knownHosts}`,
    GlobalKnownHostsFile: 'none',
    HostKeyAlias: hostKeyAlias,
    StrictHostKeyChecking: 'yes',
    UpdateHostKeys: 'no',
    ControlPath: 'none',
    EscapeChar: 'none',
    LogLevel: 'ERROR',
    // At the end, the exit status that the client has received, or that nothing answers. OpenSSH has this since 8.5.
    ...(log !== undefined && logVerbose),
    ConnectTimeout: '15',
    ProxyCommand: `/usr/bin/python3 -I -S -c '${dial}'${log === undefined ? '' : ` 2>>${log}`}`,
    ProxyUseFdpass: 'yes',
    // A network that loses everything is noticed after a minute.
    ServerAliveInterval: '15',
    ServerAliveCountMax: '3',
    // The fastest where processors have AES.
    Ciphers: '^aes128-gcm@openssh.com',
    RequestTTY: request.tty ? 'force' : 'no',
    SendEnv: `${prefix}*`,
    // With IdentitiesOnly, keys of a forwarded agent are not tried.
    ...(agent === undefined ? { IdentityAgent: 'none' } : { ForwardAgent: 'yes' }),
    ForwardX11: x11 === undefined ? 'no' : 'yes',
    ForwardX11Trusted: 'yes',
  };
  return {
    // It ends with the login, also if that is killed.
    file: '/usr/bin/setpriv',
    args: [
      'setpriv',
      '--pdeathsig',
      'HUP',
      '--',
      '/usr/bin/ssh',
      '-F',
      'none',
      '-l',
      user,
      ...(log === undefined ? [] : ['-E', log]),
      ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
      // Nothing after the host is an option.
      '--',
      node,
      ...(request.command === undefined ? [] : [request.command]),
    ],
    env: {
      PATH: '/usr/bin:/bin',
      ...(agent !== undefined && { SSH_AUTH_SOCK: agent }),
      ...(connection !== undefined && {
        BERTH_CONNECTION: connection,
        [sessionVariable]: sessionId(connection),
      }),
      BERTH_GATE: `${word} ${port} ${node}`,
      [prefix + umaskName]: umask.toString(8),
      ...(env.TERM !== undefined && { TERM: env.TERM }),
      ...(x11 && { DISPLAY: x11.display, XAUTHORITY: x11.authority }),
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [prefix + name, value])),
    },
  };
}

/** What ssh(1) exits with if it fails itself. A command can exit with it, too. */
export const sshFailed = 255;

/** What the client's messages in `Carried.log` say of an exit with 255. */
export function clientsEnd(log: string): {
  /** The command exited with it. */
  readonly isOfCommand: boolean;
  /** This client does not say it. */
  readonly isSilent: boolean;
  /** It has waited for the host in vain. */
  readonly isUnanswered: boolean;
  /** Why it failed; may be empty. */
  readonly words: string;
} {
  const lines = log.trim().split(/\r?\n/);
  const words = lines.filter((line) => !noise.some((name) => line.includes(name)));
  return {
    isOfCommand: lines.some((line) => line.endsWith('Exit status 255')),
    isSilent: log === '',
    isUnanswered: /not responding|timed out/.test(log),
    words: words.join('; ').replace(/^ssh: /, ''),
  };
}

/** How a command line begins that stands for an argv. */
const argvWord = 'berth-argv ';

/** A program in the job that is started without the user's shell. */
export function requestOfArgv(argv: readonly string[]): SessionRequest {
  return { kind: 'command', command: argvWord + JSON.stringify(argv), tty: false };
}

/** In the job: what the login on the login node asked for. The user may ask for it, too, and gets what is theirs. */
export function carriedRequest(request: SessionRequest): SessionRequest {
  const { command = '' } = request;
  if (!command.startsWith(argvWord)) return request;
  const argv = parsedJson(command.slice(argvWord.length));
  const isArgv = Array.isArray(argv) && argv.every((word) => typeof word === 'string');
  return isArgv && argv.length > 0 ? { ...request, argv } : request;
}

/** The name of the job's sshd in known_hosts. */
export const hostKeyAlias = 'berth-allocation';

/** The variable that has the umask, in octal digits. */
const umaskName = 'BERTH_UMASK';

/** The umask of the login on the login node, for a session in the job. */
export function carriedUmask({ [umaskName]: umask }: Readonly<NodeJS.ProcessEnv>): number {
  return /^[0-7]{1,4}$/.test(umask ?? '') ? Number.parseInt(umask ?? '', 8) : 0o022;
}

/** The environment that the login's sshd set, as it arrives in the job. */
export function carriedEnvironment(
  env: Readonly<NodeJS.ProcessEnv>,
): Record<string, string | undefined> {
  const carried = Object.entries(env).flatMap(([name, value]) =>
    name.startsWith(prefix) ? [[name.slice(prefix.length), value] as const] : [],
  );
  return { ...env, ...Object.fromEntries(carried) };
}
