import { countText } from '../../system/text/count-text.ts';
import { BerthError } from '../../errors/berth-error.ts';
import { nextStep } from '../../errors/next-step.ts';
import { entryLine } from '../../identity/subordinate-file.ts';
import { escapedForTerminal } from '../../log.ts';
import type { SubidResult } from '../../setup/subid/apply-subids.ts';
import type { SubidPlan } from '../../setup/subid/plan-subids.ts';
import type {
  SubordinateFault,
  SubordinateFileName,
} from '../../setup/subid/rules/subordinate-input.ts';
import type { Documents } from '../documents.ts';
import { type Terminal, documentText, errorText, wantsColour, writeIdle } from '../kit/terminal.ts';

type Streams = Pick<Terminal, 'stdout' | 'stderr' | 'env'>;

const fileNames = ['subuid', 'subgid'] as const;

/**
 * Writes a plan: a patch to standard output, warnings to standard error.
 *
 * @returns The exit status, as of `kubectl diff`: 0 no changes, 1 changes, 78 a user without a range.
 */
export function writeSubidPlan(plan: SubidPlan, format: string, streams: Streams): number {
  const { stdout, stderr, env } = streams;
  const colour = wantsColour(stdout, env);
  const error = problemError(plan, false);
  const text = format === 'json' ? subidJson(plan, error) : planText(plan, colour);
  stdout.write(text);
  if (text === '' && error === undefined) writeIdle('nothing to add', false, { stdout });
  if (format !== 'json') {
    stderr.write(remarks(plan));
    if (error !== undefined) stderr.write(errorText(error));
  }
  return error?.exitCode ?? (changes(plan) > 0 ? 1 : 0);
}

/** Writes what was done. @returns The exit status: 0 done, 78 a user without a range. */
export function writeSubidResult(
  { plan, done }: SubidResult,
  format: string,
  { stdout, stderr }: Streams,
): number {
  const error = problemError(plan, done);
  if (format === 'json') stdout.write(subidJson(plan, error, done));
  else {
    if (done) stdout.write(doneText(plan));
    stderr.write(remarks(plan));
    if (error !== undefined) stderr.write(errorText(error));
  }
  return error?.exitCode ?? 0;
}

function changes({ add, directories }: SubidPlan): number {
  return add.subuid.length + add.subgid.length + (directories?.make.length ?? 0);
}

function planText(plan: SubidPlan, colour: boolean): string {
  const paint = (text: string, code: string): string =>
    colour ? `\u001b[${code}m${text}\u001b[0m` : text;
  const lines = fileNames.flatMap((file) => patch(plan, file, paint));
  for (const { path, uid } of plan.directories?.make ?? [])
    lines.push(paint(`+ directory ${escapedForTerminal(path)} (UID ${uid}, 0700)`, '32'));
  return lines.map((line) => `${line}\n`).join('');
}

/** A diff for patch(1), without context: there may be 50 000 users. */
function patch(
  { files, add }: SubidPlan,
  file: SubordinateFileName,
  paint: (text: string, code: string) => string,
): string[] {
  const { path, text, lines } = files[file];
  const added = add[file].map((entry) => paint(`+${escapedForTerminal(entryLine(entry))}`, '32'));
  if (added.length === 0) return [];
  const last =
    text === '' || text.endsWith('\n') ? undefined : text.slice(text.lastIndexOf('\n') + 1);
  const at =
    last === undefined
      ? `@@ -${lines},0 +${lines + 1},${added.length} @@`
      : `@@ -${lines} +${lines},${added.length + 1} @@`;
  return [
    `--- ${escapedForTerminal(path)}`,
    `+++ ${escapedForTerminal(path)}`,
    paint(at, '36'),
    ...(last === undefined
      ? []
      : [
          paint(`-${escapedForTerminal(last)}`, '31'),
          '\\ No newline at end of file',
          paint(`+${escapedForTerminal(last)}`, '32'),
        ]),
    ...added,
  ];
}

function doneText(plan: SubidPlan): string {
  const lines = fileNames.map((file) => {
    const count = plan.add[file].length;
    return `${escapedForTerminal(plan.files[file].path)}: ${count === 0 ? 'complete, not changed' : `${countText(count, 'line')} added`}`;
  });
  const { directories } = plan;
  if (directories !== undefined)
    lines.push(
      `${escapedForTerminal(directories.storage)}/users: ${directories.make.length} ${directories.make.length === 1 ? 'directory' : 'directories'} created`,
    );
  return lines.map((line) => `${line}\n`).join('');
}

/** How many of each kind are printed; JSON has all. */
const shownOfEach = 5;

function remarks({ warnings, skipped, notes, directories }: SubidPlan): string {
  const faults = [...Map.groupBy(warnings, ({ code }) => code)].flatMap(([code, all]) => [
    ...all.slice(0, shownOfEach).map(({ message }) => `${message} [${code}]`),
    ...(all.length > shownOfEach ? [`${all.length - shownOfEach} more [${code}]`] : []),
  ]);
  const left = [
    ...skipped.map(({ name, reason }) => `${name} is left out: ${reason}`),
    ...(directories?.foreign ?? []).map(({ path, reason }) => `${path} is not changed: ${reason}`),
  ];
  const cut = left.slice(0, shownOfEach);
  if (left.length > cut.length) cut.push(`${left.length - cut.length} more are left out`);
  return [...notes, ...faults, ...cut]
    .map((line) => `warning: ${escapedForTerminal(line)}\n`)
    .join('');
}

/** All problems as one error; undefined if there are none. */
function problemError(plan: SubidPlan, othersDone: boolean): BerthError | undefined {
  const { problems } = plan;
  const [first] = problems;
  if (first === undefined) return undefined;
  const without = problems.filter(({ user }) => user !== undefined);
  const count = without.length > 1 ? `${countText(without.length, 'user')} have no range: ` : '';
  const stopped = without.length > 0 && !othersDone;
  const hints = [
    ...new Set(problems.map(({ code }) => nextStep(code))),
    ...(stopped
      ? ['Or write the ranges of the other users: `berth subid apply --keep-going`.']
      : []),
  ];
  return new BerthError(`${count}${summary(problems)}${stopped ? '; nothing was written' : ''}`, {
    code: first.code,
    hint: hints.join(' '),
  });
}

function summary(problems: readonly SubordinateFault[]): string {
  return [...Map.groupBy(problems, ({ code }) => code)]
    .map(
      ([, all]) =>
        `${all[0]?.message ?? ''}${all.length > 1 ? ` and ${all.length - 1} more like this` : ''}`,
    )
    .join('; ');
}

/** For scripts. */
function subidJson(plan: SubidPlan, error: BerthError | undefined, done?: boolean): string {
  const { add, files, problems, warnings, directories, ...rest } = plan;
  const of = (file: SubordinateFileName): Documents['SubidPlan']['subuid'] => ({
    file: files[file].path,
    add: add[file],
  });
  const { layout, users, complete, skipped, notes } = rest;
  const json = {
    done,
    layout,
    users,
    complete,
    subuid: of('subuid'),
    subgid: of('subgid'),
    directories,
    problems,
    warnings,
    skipped,
    notes,
    next: error?.hint,
  };
  return documentText('SubidPlan', json);
}
