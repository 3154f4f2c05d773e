import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kindsDirectory } from '../../config/schema/default-settings.ts';
import { BerthError, expectBerthError } from '../../system/errors/berth-error.ts';
import type { ResolveConfigPath } from '../../config/load/config-path.ts';
import { sourceText } from '../../system/program/source-text.ts';
import { lintSettings } from '../sshd-lint/lint-host.ts';
import { noOverrides } from '../sshd-lint/lint-connections.ts';
import { allFindings, lintSshd, type SshdLint } from '../sshd-lint/lint-sshd.ts';
import { assertRoot } from '../../system/as-user.ts';
import { stageFile, writeError } from '../../system/atomic-file.ts';
import { takeLock } from '../../system/file-lock.ts';
import { runProgram } from '../../system/run-program.ts';
import { ensureRootDirectory } from '../../system/safe-directories.ts';
import { linkAs, nameStamp } from '../../system/second-name.ts';
import { readIfPresent } from '../../system/trusted-text.ts';
import { kindFile } from './kind.ts';
import { kindConfigOf, type NewKindOptions } from './kind-inputs.ts';
import {
  balancerLimitLines,
  isUneditedKind,
  type KindConfig,
  kindConfigText,
} from './rules/kind-config.ts';
import { assertFreePorts } from './running-sshds.ts';
import { testSshdConfig } from './check-kinds.ts';

export interface NewKindInput extends NewKindOptions {
  /** Absolute path of sshd(8). */
  readonly sshd: string;
  /** Check everything, and write nothing. */
  readonly dryRun: boolean;
  /** Replace a file that somebody has edited. It is kept in any case. */
  readonly overwrite: boolean;
  /** For the name of the former file. */
  readonly now: Date;
}

/** What `newKind` did, or would do. */
export interface NewKind {
  readonly kind: KindConfig;
  /** Path of its configuration. */
  readonly file: string;
  readonly text: string;
  /** `unchanged`: the file has these contents already. */
  readonly change: 'new' | 'changed' | 'unchanged';
  /** The contents that were replaced, and where they are kept; in a dry run, they are not. */
  readonly former?: { readonly text: string; readonly file?: string };
  readonly lint: SshdLint;
}

/** The examples in etc/sshd, which the build takes in. */
const templates = {
  forced: sourceText('../../../etc/sshd/forced-command.conf', import.meta.url),
  'login-shell': sourceText('../../../etc/sshd/login-shell.conf', import.meta.url),
} as const;

const lockTimes = { timeoutMs: 20_000, foreignStaleMs: 120_000 } as const;

/**
 * Makes the configuration of a kind of session for berth-sshd@NAME.service. The linter and sshd check the new contents
 * before they are put in place; the file that they replace is kept. The configuration of the host's own sshd is only
 * read.
 *
 * @throws {BerthError} `port-taken`, `sshd-kind-open`, `sshd-kind-edited`, `not-root`, `lock-timeout`, `directory-unsafe`, and those of
 *   `kindConfigOf`, `testSshdConfig`, `lintSshd` and `writeAtomically`
 */
export async function newKind(input: NewKindInput): Promise<NewKind> {
  assertRoot();
  const { kind, file, text } = await wantedKind(input);
  if (input.dryRun) return await tried({ kind, file, text }, input);
  makeDirectory();
  const lock = await takeLock(join(kindsDirectory, '.new.lock'), lockTimes);
  try {
    await assertPortIsFree({ kind, file, text });
    const staged = await stageFile(file, text, { mode: 0o644 });
    try {
      const result = await checked({ kind, file, text }, staged.temporary, input);
      const edited = result.former !== undefined && !isUneditedKind(result.former.text);
      if (edited && result.change === 'changed' && !input.overwrite)
        throw new BerthError(
          'sshd-kind-edited',
          `${file} was edited since \`berth sshd new\` made it, and was left as it is`,
          { fields: { file } },
        );
      if (result.former === undefined || result.change === 'unchanged') {
        if (result.change === 'new') await staged.commit();
        return result;
      }
      // There is no moment without it.
      const kept = await linkAs(file, `${file}.${nameStamp(input.now)}`);
      await staged.commit();
      return { ...result, former: { text: result.former.text, file: kept } };
    } finally {
      await staged.discard();
    }
  } finally {
    await lock?.release();
  }
}

type Wanted = Pick<NewKind, 'kind' | 'file' | 'text'>;

/**
 * What `newKind` would write, before anything is checked.
 *
 * @throws {BerthError} those of `kindConfigOf`
 */
export async function wantedKind(
  input: Pick<NewKindInput, keyof NewKindOptions | 'sshd'>,
): Promise<Wanted> {
  const kind = { ...(await kindConfigOf(input)), limits: await balancerLimits(input) };
  return { kind, file: kindFile(kind.name), text: kindConfigText(templates[kind.mode], kind) };
}

/** A dry run: the file is checked in a directory of its own. */
async function tried(wanted: Wanted, input: NewKindInput): Promise<NewKind> {
  await assertPortIsFree(wanted);
  const directory = await mkdtemp(join(tmpdir(), 'berth-sshd-'));
  try {
    const candidate = join(directory, `${wanted.kind.name}.conf`);
    await writeFile(candidate, wanted.text, { mode: 0o644 });
    return await checked(wanted, candidate, input);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Refuses a kind's port if another program has it. @throws {BerthError} those of `assertFreePorts` */
export function assertPortIsFree({ kind, file }: Wanted): Promise<void> {
  return assertFreePorts(
    (kind.addresses.length === 0 ? ['*'] : kind.addresses).map((address) => ({
      address,
      port: kind.port,
    })),
    file,
  );
}

/** @param candidate a file with the new contents */
async function checked(
  { kind, file, text }: Wanted,
  candidate: string,
  { sshd, settings, overlay }: NewKindInput,
): Promise<NewKind> {
  await asFinal(candidate, file, () => testSshdConfig(sshd, candidate));
  const found = await lintSshd({
    sshd,
    settings,
    overlay,
    config: candidate,
    login: kind.login,
    ...noOverrides,
  });
  const lint = JSON.parse(JSON.stringify(found).replaceAll(candidate, file)) as SshdLint;
  const critical = criticalFindings(lint, kind.accepted);
  if (critical.length > 0)
    throw new BerthError(
      'sshd-kind-open',
      `with ${file}, users can run code on the host: ${critical.join('; ')}`,
      {
        hint: `${critical.some((one) => one.endsWith('(shell-reads-home)')) && kind.mode === 'forced' ? 'For shell-reads-home use --mode login-shell. ' : ''}Correct it, or accept it with --accept CODE. \`berth explain sshd-kind-open\` says more. Nothing was changed.`,
        fields: { file },
      },
    );
  const before = readIfPresent(file);
  return {
    kind,
    file,
    text,
    lint,
    change: before === undefined ? 'new' : before === text ? 'unchanged' : 'changed',
    ...(before !== undefined && { former: { text: before } }),
  };
}

/** Each critical finding that is not accepted, once. */
function criticalFindings(lint: SshdLint, accepted: readonly string[]): string[] {
  const open = allFindings(lint).filter(
    ({ severity, code }) => severity === 'critical' && !accepted.includes(code),
  );
  const byCode = Map.groupBy(open, ({ code }) => code);
  return [...byCode].map(([code, [first]]) => `${first?.message ?? ''} (${code})`);
}

/** Errors name the file that is being made, not its temporary name. */
async function asFinal(candidate: string, file: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    expectBerthError(error);
    const { code, hint } = error;
    throw new BerthError(code, error.message.replaceAll(candidate, file), { hint, cause: error });
  }
}

function makeDirectory(): void {
  try {
    ensureRootDirectory(kindsDirectory);
  } catch (error) {
    throw writeError(kindsDirectory, error);
  }
}

/** Milliseconds; it takes some ten. */
const timeoutMs = 20_000;

/**
 * The lines with which an sshd does not treat all who come through the balancers as one client, if ssh.yml has `balancers`.
 *
 * @param options path of `ssh.yml`, and absolute path of sshd(8), whose version decides
 */
async function balancerLimits(options: {
  readonly settings: string;
  readonly overlay?: ResolveConfigPath | undefined;
  readonly sshd: string;
}): Promise<string[]> {
  const { balancers } = await lintSettings(options.settings, options.overlay);
  if (balancers.length === 0) return [];
  // Before 9.3, sshd does not know -V, and prints its version all the same.
  const { stdout, stderr } = await runProgram(options.sshd, ['-V'], {
    timeoutMs,
  });
  return balancerLimitLines(balancers, `${stdout}\n${stderr}`);
}
