import type { PamFault, PamLine, PamPlace } from './pam-lines.ts';
import { pamReach } from './pam-reach.ts';
import type { SshdFinding } from './finding.ts';
import { installedPath } from '../../installed-path.ts';

/** What the lines name and the host has not. */
export interface PamMissing {
  readonly modules: ReadonlySet<string>;
  /** Of pam_exec; also what root cannot run. */
  readonly programs: ReadonlySet<string>;
  /** Of pam_env's `conffile=`. */
  readonly files: ReadonlySet<string>;
}

/** What sshd's PAM stack leaves open, or leaves behind. */
export function pamFindings(
  entries: readonly (PamLine | PamFault)[],
  missing: PamMissing,
  file: string,
): SshdFinding[] {
  const lines = entries.filter((entry): entry is PamLine => 'module' in entry);
  return [
    ...userEnvironment(lines),
    ...entries.flatMap((entry) => mistyped(entry, missing)),
    ...hookFindings(lines, missing, file),
  ];
}

function userEnvironment(lines: readonly PamLine[]): SshdFinding[] {
  const line = lines.find(
    ({ module, args }) => moduleName(module) === 'pam_env.so' && args.includes('user_readenv=1'),
  );
  if (line === undefined) return [];
  return [
    {
      code: 'pam-user-environment',
      severity: 'door',
      message: `~/.pam_environment sets LD_PRELOAD, NODE_OPTIONS or BASH_ENV on the host, for root too where pam_exec runs: ${placed(line)} has user_readenv=1`,
      closedBy: `user_readenv=0 in line ${line.line} of ${line.file}`,
    },
  ];
}

function mistyped(entry: PamLine | PamFault, missing: PamMissing): SshdFinding[] {
  const found = 'fault' in entry ? [entry.fault, sample] : mistakeOf(entry, missing);
  if (found === undefined) return [];
  const [why = '', closedBy = ''] = found;
  return [
    {
      code: 'pam-line-mistyped',
      severity: 'weakness',
      message: `${placed(entry)} does not do what it says: ${why}`,
      closedBy,
    },
  ];
}

const sample = `TYPE CONTROL MODULE, as in ${installedPath('share/etc/pam.d/berth-session')}`;

/** What is wrong with a line that PAM can read, and what to write. */
function mistakeOf(
  line: PamLine,
  { modules, programs, files }: PamMissing,
): readonly [string, string] | undefined {
  const fails = line.control.missing === 'bad' || line.control.missing === 'die';
  if (modules.has(line.module) && (fails || !line.optional))
    return [
      `there is no module ${line.module}${fails ? ', so nobody gets in' : ''}`,
      `the module's name; where it may be missing, -${line.type} optional ${line.module}`,
    ];
  const conffile = environmentFile(line, 'conffile');
  if (conffile !== undefined && files.has(conffile))
    return [
      `there is no ${conffile}, so pam_env sets nothing`,
      `the file; ${installedPath('share/etc/security/berth-pam-env.conf')} is Berth's`,
    ];
  const exec = execOf(line);
  if (exec === undefined) return undefined;
  const { program, when, step } = exec;
  if (program === undefined) return ['pam_exec.so is told no program', sample];
  if (!program.startsWith('/'))
    return [`${program} is no absolute path`, `the absolute path of ${program}`];
  if (programs.has(program))
    return [`there is no program ${program} that root can run`, `the path of the program`];
  if (when !== undefined && !execTypes.includes(when))
    return [`pam_exec.so knows no type=${when}, only ${execTypes.join(', ')}`, sample];
  if (!isHook(program)) return undefined;
  if (line.type !== 'session')
    return [`pam-session is for the session stack, not for ${line.type}`, sample];
  if (when !== undefined && step !== undefined && when !== `${step}_session`)
    return [`type=${when} runs pam-session ${step}`, sample];
  return undefined;
}

const execTypes = ['open_session', 'close_session', 'account', 'auth', 'password', 'setcred'];

export interface PamExec {
  readonly program: string | undefined;
  /** `type=` of pam_exec. */
  readonly when: string | undefined;
  /** The word of pam-session, `open` or `close`. */
  readonly step: string | undefined;
}

/** What a line of pam_exec(8) runs; nothing for other modules. */
export function execOf({ module, args }: PamLine): PamExec | undefined {
  if (moduleName(module) !== 'pam_exec.so') return undefined;
  const options =
    /^(?:debug|expose_authtok|use_first_pass|seteuid|quiet|quiet_log|stdout|type=.*|log=.*)$/;
  const at = args.findIndex((word) => !options.test(word));
  const own = at === -1 ? args : args.slice(0, at);
  const rest = at === -1 ? [] : args.slice(at);
  return {
    program: rest[0],
    when: own.findLast((word) => word.startsWith('type='))?.slice('type='.length),
    step: rest.slice(1).findLast((word) => word === 'open' || word === 'close'),
  };
}

/** The absolute path that a line of pam_env(8) names so. */
export function environmentFile(
  { module, args }: PamLine,
  option: 'conffile' | 'envfile',
): string | undefined {
  if (moduleName(module) !== 'pam_env.so') return undefined;
  const value = args.find((word) => word.startsWith(`${option}=/`));
  return value?.slice(option.length + 1);
}

function isHook(program: string): boolean {
  return program.endsWith('/pam-session');
}

/** Whether both ends of a connection run pam-session, and where. */
function hookFindings(lines: readonly PamLine[], missing: PamMissing, file: string): SshdFinding[] {
  const sessions = lines.filter(({ type }) => type === 'session');
  const { reached, passedBy } = pamReach(sessions, ({ module }) => missing.modules.has(module));
  const hooks = sessions.filter((line) => {
    const { program = '' } = execOf(line) ?? {};
    return isHook(program) && mistakeOf(line, missing) === undefined;
  });
  const unreached = hooks.filter((line) => !reached.has(line));
  const findings = unreached.map((line): SshdFinding => {
    const other = passedBy(line);
    const by = other === undefined ? 'what stands before it' : `${placed(other)} (${other.module})`;
    return {
      code: 'pam-session-unreached',
      severity: 'weakness',
      message: `${placed(line)} never runs pam-session: ${by} ends the stack or jumps over it`,
      closedBy: `the line before ${other === undefined ? 'the others' : placed(other)}, or that one with \`optional\` or \`required\``,
    };
  });
  const lacking = (['open', 'close'] as const).filter(
    (step) => !hooks.some((line) => runsAt(line, step)),
  );
  if (lacking.length > 0)
    findings.push({
      code: 'pam-session-missing',
      severity: 'weakness',
      message: lacking.includes('close')
        ? `nothing in ${file} ends what a connection started`
        : `nothing in ${file} notes a connection when it opens, so pam-session cannot end what it started`,
      closedBy: `the lines of ${installedPath('share/etc/pam.d/berth-session')} at its end`,
    });
  const first = sessions.indexOf(hooks[0] ?? ({} as PamLine));
  const late = sessions
    .slice(first + 1)
    .find(({ module }) => /^pam_(?:systemd|loginuid)\.so$/.test(moduleName(module)));
  if (first !== -1 && late !== undefined)
    findings.push({
      code: 'pam-session-early',
      severity: 'weakness',
      message: `${placed(late)}: ${late.module} comes after pam-session, which needs what it makes`,
      closedBy: `pam-session at the end of ${file}`,
    });
  return findings;
}

function runsAt(line: PamLine, step: 'open' | 'close'): boolean {
  const { when = `${step}_session`, step: word = step } = execOf(line) ?? {};
  return when === `${step}_session` && word === step;
}

function moduleName(module: string): string {
  return module.split('/').at(-1) ?? '';
}

function placed({ file, line }: PamPlace): string {
  return `${file}:${line}`;
}
