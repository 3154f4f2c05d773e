import { countText } from '../../system/text/count-text.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { nextStep } from '../../system/errors/next-step.ts';
import { entryLine } from '../../system/identity/subordinate-file.ts';
import { escapedForTerminal } from '../../log.ts';
import type { SubidResult } from '../../setup/subid/apply-subids.ts';
import type { SubidPlan } from '../../setup/subid/plan-subids.ts';
import {
  fileNames,
  type SubordinateFault,
  type SubordinateFileName,
} from '../../setup/subid/rules/subordinate-input.ts';
import type { Documents } from '../documents.ts';
import { type Terminal, documentText, errorText, wantsColour, writeIdle } from '../kit/terminal.ts';

type Streams = Pick<Terminal, 'stdout' | 'stderr' | 'env'>;

/**
 * Writes a plan: what would be added to standard output, warnings to standard error.
 *
 * @returns The exit status, as of `kubectl diff`: 0 no changes, 1 changes, 78 a user without a range.
 */
export function writeSubidPlan(plan: SubidPlan, format: string, streams: Streams): number {
  const changes = additions(plan);
  const error = problemError(plan, false);
  const colour = wantsColour(streams.stdout, streams.env);
  const lines = changes.map((line) => (colour ? `\u001b[32m${line}\u001b[0m\n` : `${line}\n`));
  write({ plan, error, text: lines.join('') }, format, streams);
  if (format !== 'json' && changes.length === 0 && error === undefined)
    writeIdle('nothing to add', false, streams);
  return error?.exitCode ?? (changes.length > 0 ? 1 : 0);
}

/** Writes what was done. @returns The exit status: 0 done, 78 a user without a range. */
export function writeSubidResult(
  { plan, done }: SubidResult,
  format: string,
  streams: Streams,
): number {
  const error = problemError(plan, done);
  write({ plan, error, done, text: done ? doneText(plan) : '' }, format, streams);
  return error?.exitCode ?? 0;
}

interface Report {
  readonly plan: SubidPlan;
  readonly error: BerthError | undefined;
  /** Only of `apply`. */
  readonly done?: boolean;
  readonly text: string;
}

function write(report: Report, format: string, { stdout, stderr }: Streams): void {
  const { plan, error, text } = report;
  if (format === 'json') {
    stdout.write(subidJson(report));
    return;
  }
  stdout.write(text);
  stderr.write(remarks(plan));
  if (error !== undefined) stderr.write(errorText(error));
}

function additions({ files, add, directories }: SubidPlan): string[] {
  return [
    ...fileNames.flatMap((file) =>
      add[file].map(
        (entry) => `+ ${escapedForTerminal(`${files[file].path} ${entryLine(entry)}`)}`,
      ),
    ),
    ...(directories?.make ?? []).map(
      ({ path, uid }) => `+ directory ${escapedForTerminal(path)} (UID ${uid}, 0700)`,
    ),
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
  return new BerthError(
    first.code,
    `${count}${summary(problems)}${stopped ? '; nothing was written' : ''}`,
    {
      hint: hints.join(' '),
    },
  );
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
function subidJson({ plan, error, done }: Report): string {
  const { layout, users, complete, directories, problems, warnings, skipped, notes } = plan;
  const of = (file: SubordinateFileName): Documents['SubidPlan']['subuid'] => ({
    file: plan.files[file].path,
    add: plan.add[file],
  });
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
