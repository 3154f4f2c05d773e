import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import type { ResolveConfigPath } from '../../config/load/config-path.ts';
import { nearestKey } from '../../config/schema/nearest-key.ts';
import { parseYaml } from '../../config/schema/yaml-document.ts';
import { BerthError, isErrno } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { noOverrides } from '../sshd-lint/lint-connections.ts';
import { allFindings, lintSshd } from '../sshd-lint/lint-sshd.ts';
import { parseSshdConfigFiles, saidBySshd } from '../sshd-lint/sshd-effective.ts';
import { runProgram } from '../../system/run-program.ts';
import { readTrusted } from '../../system/trusted-text.ts';
import { type InspectedKind, inspectKind } from './inspect-kind.ts';
import { kindNames } from './kind.ts';
import type { KindProblem } from './rules/kind-problems.ts';

export interface CheckKindsInput {
  /** Names of kinds; all if empty. */
  readonly names: readonly string[];
  readonly sshd: string;
  /** Path of `ssh.yml`. */
  readonly settings: string;
  /** A configuration to try. */
  readonly overlay?: ResolveConfigPath | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** What users type, if a balancer is configured. */
  readonly hostname?: string | undefined;
}

/** Looks at all kinds, without the linter. */
export async function listKinds(about: {
  readonly now: number;
  readonly hostname?: string | undefined;
}): Promise<InspectedKind[]> {
  return await Promise.all(kindNames().map((name) => inspectKind(name, about)));
}

/**
 * Checks kinds: the linter, `sshd -t`, the unit, and whether the running sshd has read its present files. Findings that
 * the configuration accepts are left out.
 *
 * @throws {BerthError} `sshd-kind-unknown`, `sshd-missing`, `not-root`, `systemctl-failed`
 */
export async function checkKinds(input: CheckKindsInput): Promise<InspectedKind[]> {
  const all = kindNames();
  for (const name of input.names) if (!all.includes(name)) throw unknown(name, all);
  const checked: InspectedKind[] = [];
  for (const name of input.names.length > 0 ? input.names : all)
    checked.push(await checkKind(name, input));
  return checked;
}

async function checkKind(name: string, input: CheckKindsInput): Promise<InspectedKind> {
  const kind = await inspectKind(name, input);
  const problems = await configProblems(kind, input);
  const known = new Set(problems.map(({ code }) => code));
  return {
    ...kind,
    problems: [...problems, ...kind.problems.filter(({ code }) => !known.has(code))],
  };
}

async function configProblems(
  { file, accepted }: InspectedKind,
  { sshd, settings, overlay }: CheckKindsInput,
): Promise<KindProblem[]> {
  try {
    // sshd would wait for the writer of a FIFO.
    await parseSshdConfigFiles(file);
    await testSshdConfig(sshd, file);
    const lint = await lintSshd({
      sshd,
      settings,
      overlay,
      config: file,
      login: installedPath('shell/login'),
      ...noOverrides,
    });
    const once = new Map(
      allFindings(lint).map((finding) => [`${finding.code} ${finding.message}`, finding]),
    );
    return [...once.values()]
      .filter(({ code }) => !accepted.includes(code))
      .map(({ code, message, closedBy }) => ({ code, message, next: closedBy }));
  } catch (thrown) {
    // The others apply to every kind.
    const own = ['sshd-refused', 'config-missing', 'config-unreadable', 'sshd-output'];
    if (!(thrown instanceof BerthError) || !own.includes(thrown.code)) throw thrown;
    return [{ code: thrown.code, message: thrown.message, next: thrown.hint }];
  }
}

function unknown(name: string, all: readonly string[]): BerthError {
  const near = nearestKey(name, all);
  return new BerthError(
    'sshd-kind-unknown',
    `there is no kind of session ${JSON.stringify(name)} on this host`,
    {
      hint: near && `Did you mean ${near}?`,
    },
  );
}

/**
 * The name that users type, `hostname` in balancer.yml. The rest of that file is not checked here.
 *
 * @returns undefined without a balancer
 * @throws {BerthError} `config-…` of `readConfigFile`, `config-yaml-invalid`
 */
export function balancerHostname(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const document = parseYaml(readTrusted(file), file, 'core') as { hostname?: unknown } | null;
  return typeof document?.hostname === 'string' ? document.hostname : undefined;
}

/** Milliseconds; sshd takes some ten. */
const timeoutMs = 20_000;

/**
 * Runs `sshd -t`. Before sshd ran for the first time since the boot, its privilege separation directory in /run does not
 * exist; it is created then, as the unit of sshd would.
 *
 * @throws {BerthError} `sshd-missing`, `sshd-refused`
 */
export async function testSshdConfig(sshd: string, config: string): Promise<void> {
  const reason = await refusal(sshd, config);
  const directory = /Missing privilege separation directory: (\/run\/\S+)/.exec(reason ?? '')?.[1];
  if (directory !== undefined) await mkdir(directory, { mode: 0o755, recursive: true });
  const last = directory === undefined ? reason : await refusal(sshd, config);
  if (last === undefined) return;
  throw new BerthError('sshd-refused', `sshd refuses ${config}: ${last}`);
}

/** What sshd says against the file; undefined if it accepts it. */
async function refusal(sshd: string, config: string): Promise<string | undefined> {
  const { error, stderr } = await runProgram(sshd, ['-t', '-f', config], {
    timeoutMs,
  });
  if (error === undefined) return undefined;
  if (isErrno(error, 'ENOENT', 'EACCES'))
    throw new BerthError('sshd-missing', `could not run ${sshd}`, { cause: error });
  return saidBySshd(stderr, error);
}
