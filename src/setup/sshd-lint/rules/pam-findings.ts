import type { PamFault, PamLine, PamPlace } from './pam-lines.ts';
import { pamReach } from './pam-reach.ts';
import { advice, critical, type SshdFinding, weakness } from './sshd-finding.ts';
import { installedPath } from '../../../system/program/installed-path.ts';

/** What the lines name and the host does not have. */
export interface PamMissing {
  readonly modules: ReadonlySet<string>;
  /** Programs of pam_exec that do not exist or that root cannot execute. */
  readonly programs: ReadonlySet<string>;
  /** Files of pam_env's `conffile=`. */
  readonly files: ReadonlySet<string>;
}

/** Findings about the lines of sshd's PAM stack. */
export function pamFindings(
  entries: readonly (PamLine | PamFault)[],
  missing: PamMissing,
  file: string,
): SshdFinding[] {
  const lines = entries.filter((entry): entry is PamLine => 'module' in entry);
  return [
    ...userEnvironment(lines),
    ...lines.flatMap(unjudged),
    ...entries.flatMap((entry) => mistyped(entry, missing)),
    ...hookFindings(lines, missing, file),
  ];
}

function userEnvironment(lines: readonly PamLine[]): SshdFinding[] {
  const line = lines.find(
    ({ module, args }) => moduleName(module) === 'pam_env.so' && readsHome(args),
  );
  if (line === undefined) return [];
  return [
    critical(
      'pam-user-environment',
      `${placed(line)} has user_readenv, so users can set LD_PRELOAD, NODE_OPTIONS or BASH_ENV in ~/.pam_environment for programs of the host, and for root where pam_exec runs`,
      `remove user_readenv from line ${line.line} of ${line.file}`,
    ),
  ];
}

/** Modules that read files of the user, such as pam_mount's luserconf, or run scripts. */
const unjudgedModules =
  /^pam_(?:mount|python|script|lua|perl|ecryptfs|gnome_keyring|kwallet5?|ssh|dotfile|google_authenticator|u2f|yubico)\.so$/;

function unjudged(line: PamLine): SshdFinding[] {
  const module = moduleName(line.module);
  if (!unjudgedModules.test(module)) return [];
  return [
    advice(
      'pam-module-not-judged',
      `${placed(line)} has ${module}, which reads files of the user or runs scripts on this host: what it opens is not judged here`,
      `read in ${module.replace(/\.so$/, '')}(8) what users may write; remove the line if that is a program or a variable`,
    ),
  ];
}

/** pam_env takes the last one, and any number but 0, as atoi(3) reads it. */
function readsHome(args: readonly string[]): boolean {
  const value = args.findLast((arg) => arg.startsWith('user_readenv='))?.split('=')[1];
  return /^\s*[+-]?0*[1-9]/.test(value ?? '');
}

function mistyped(entry: PamLine | PamFault, missing: PamMissing): SshdFinding[] {
  const found = 'fault' in entry ? [entry.fault, sample] : mistakeOf(entry, missing);
  if (found === undefined) return [];
  const [why = '', closedBy = ''] = found;
  return [
    weakness('pam-line-mistyped', `${placed(entry)} does not do what it should: ${why}`, closedBy),
  ];
}

const sample = `write TYPE CONTROL MODULE, as in ${installedPath('share/etc/pam.d/berth-session')}`;

/** What is wrong with a line that PAM can parse, and what to write instead. */
function mistakeOf(
  line: PamLine,
  { modules, programs, files }: PamMissing,
): readonly [string, string] | undefined {
  const fails = line.control.missing === 'bad' || line.control.missing === 'die';
  if (modules.has(line.module) && (fails || !line.optional))
    return [
      `module ${line.module} does not exist${fails ? ', so no login succeeds' : ''}`,
      `correct the module's name; if the module may be missing, write -${line.type} optional ${line.module}`,
    ];
  const conffile = pamEnvFile(line, 'conffile');
  if (conffile !== undefined && files.has(conffile))
    return [
      `${conffile} does not exist, so pam_env sets nothing`,
      `create it: copy ${installedPath('share/etc/security/berth-pam-env.conf')}`,
    ];
  const exec = pamExecOf(line);
  if (exec === undefined) return undefined;
  const { program, when, step } = exec;
  if (program === undefined) return ['pam_exec.so has no program', sample];
  if (!program.startsWith('/'))
    return [`${program} is not an absolute path`, `write the absolute path of ${program}`];
  if (programs.has(program))
    return [
      `program ${program} does not exist or root cannot execute it`,
      `correct the path ${program}, or install it with mode 755`,
    ];
  if (when !== undefined && !execTypes.includes(when))
    return [`pam_exec.so has no type=${when}, only ${execTypes.join(', ')}`, sample];
  if (!isHook(program)) return undefined;
  if (line.type !== 'session')
    return [`pam-session must be in a line of type session, not ${line.type}`, sample];
  if (when !== undefined && step !== undefined && when !== `${step}_session`)
    return [
      `type=${when} runs pam-session ${step}`,
      'write `pam-session open` with type=open_session, `pam-session close` with type=close_session',
    ];
  return undefined;
}

const execTypes = ['open_session', 'close_session', 'account', 'auth', 'password', 'setcred'];

export interface PamExec {
  readonly program: string | undefined;
  /** `type=` of pam_exec. */
  readonly when: string | undefined;
  /** The argument of pam-session, `open` or `close`. */
  readonly step: string | undefined;
}

/** What a line of pam_exec(8) runs; undefined for other modules. */
export function pamExecOf({ module, args }: PamLine): PamExec | undefined {
  if (moduleName(module) !== 'pam_exec.so') return undefined;
  const options =
    /^(?:debug|expose_authtok|use_first_pass|seteuid|quiet|quiet_log|stdout|type=.*|log=.*)$/;
  const at = args.findIndex((arg) => !options.test(arg));
  const own = at === -1 ? args : args.slice(0, at);
  const rest = at === -1 ? [] : args.slice(at);
  return {
    program: rest[0],
    when: own.findLast((arg) => arg.startsWith('type='))?.slice('type='.length),
    step: rest.slice(1).findLast((arg) => arg === 'open' || arg === 'close'),
  };
}

/** The absolute path in an option of pam_env(8). */
export function pamEnvFile(
  { module, args }: PamLine,
  option: 'conffile' | 'envfile',
): string | undefined {
  if (moduleName(module) !== 'pam_env.so') return undefined;
  const value = args.find((arg) => arg.startsWith(`${option}=/`));
  return value?.slice(option.length + 1);
}

function isHook(program: string): boolean {
  return program.endsWith('/pam-session');
}

/** Checks that pam-session runs at open and at close, and at the right place in the stack. */
function hookFindings(lines: readonly PamLine[], missing: PamMissing, file: string): SshdFinding[] {
  const sessions = lines.filter(({ type }) => type === 'session');
  const { reached, passedBy } = pamReach(sessions, ({ module }) => missing.modules.has(module));
  const hooks = sessions.filter((line) => {
    const { program = '' } = pamExecOf(line) ?? {};
    return isHook(program) && mistakeOf(line, missing) === undefined;
  });
  const unreached = hooks.filter((line) => !reached.has(line));
  const findings = unreached.map((line): SshdFinding => {
    const other = passedBy(line);
    const by = other === undefined ? 'a line before it' : `${placed(other)} (${other.module})`;
    return weakness(
      'pam-session-unreached',
      `${placed(line)} never runs pam-session: ${by} ends the stack or skips it`,
      `move the line before ${other === undefined ? 'the others' : placed(other)}, or change the control of that line to \`optional\` or \`required\``,
    );
  });
  const lacking = (['open', 'close'] as const).filter(
    (step) => !hooks.some((line) => runsAt(line, step)),
  );
  if (lacking.length > 0)
    findings.push(
      weakness(
        'pam-session-missing',
        lacking.includes('close')
          ? `no line of ${file} runs pam-session when a connection closes, so processes and containers of the connection remain`
          : `no line of ${file} runs pam-session when a connection opens, so it cannot clean up when the connection closes`,
        `append the lines of ${installedPath('share/etc/pam.d/berth-session')}`,
      ),
    );
  const first = sessions.indexOf(hooks[0] ?? ({} as PamLine));
  const late = sessions
    .slice(first + 1)
    .find(({ module }) => /^pam_(?:systemd|loginuid)\.so$/.test(moduleName(module)));
  if (first !== -1 && late !== undefined)
    findings.push(
      weakness(
        'pam-session-early',
        `${placed(late)}: ${late.module} runs after pam-session, which needs what it sets up`,
        `move the lines of pam-session to the end of ${file}`,
      ),
    );
  return findings;
}

function runsAt(line: PamLine, step: 'open' | 'close'): boolean {
  const { when = `${step}_session`, step: argument = step } = pamExecOf(line) ?? {};
  return when === `${step}_session` && argument === step;
}

function moduleName(module: string): string {
  return module.split('/').at(-1) ?? '';
}

function placed({ file, line }: PamPlace): string {
  return `${file}:${line}`;
}
