import { stringify } from 'yaml';
import { exitCodes } from '../../system/errors/exit-codes.ts';
import { escapedForTerminal, escapeInvisible } from '../../log.ts';
import type { ProgramCall } from '../../system/program/program-call.ts';
import { shellWords } from '../../system/text/shell-words.ts';
import type { SessionPlan } from '../../login/open/plan-session.ts';
import { documentText, type Terminal } from '../kit/terminal.ts';

/** A planned session as text: the decision and its reason, then the command lines. */
export function sessionPlanText(plan: SessionPlan): string {
  const { user, outcome, reason, mistakes, obstacles, session, pod, job } = plan;
  if (job !== undefined)
    return [
      `${escapedForTerminal(user)} gets profile ${job.profile}: ${escapedForTerminal(reason)}`,
      ...obstaclesText(obstacles),
      `job ${job.name}, submitted if no job of an earlier login for this profile is open`,
      '',
      ...escapeInvisible(job.script).trimEnd().split('\n'),
    ].join('\n');
  if (pod !== undefined)
    return [
      `${escapedForTerminal(user)} gets profile ${pod.profile}: ${escapedForTerminal(reason)}`,
      ...obstaclesText(obstacles),
      `pod ${pod.pod.metadata.name} in namespace ${pod.pod.metadata.namespace} on cluster ${escapedForTerminal(pod.cluster)}`,
      '',
      'manifest of the pod (created if it is not running yet)',
      ...escapeInvisible(stringify(pod.pod))
        .trimEnd()
        .split('\n')
        .map((line) => `  ${line}`),
      '',
      'command in the pod',
      `  ${escapedForTerminal(shellWords(pod.exec))}`,
    ].join('\n');
  if (session === undefined) {
    const refused = isMistake(plan) ? 'gets no session' : 'is refused';
    const what = outcome === 'refused' ? refused : 'gets a shell on the host';
    const why = mistakes === undefined ? '' : `\n${escapedForTerminal(mistakes)}`;
    return [
      `${escapedForTerminal(user)} ${what}: ${escapedForTerminal(reason)}${why}`,
      ...obstaclesText(obstacles),
    ].join('\n');
  }
  const { profile, container, mounts, skipped, becomes, environment } = session;
  const state = container.runs
    ? 'is running and will be joined'
    : 'is not running and will be started';
  return [
    `${escapedForTerminal(user)} gets profile ${profile}: ${escapedForTerminal(reason)}`,
    ...obstaclesText(obstacles),
    `container ${container.name} ${state}`,
    '',
    'mounts',
    ...mounts.map(
      ({ source, target, readOnly }) =>
        `  ${escapedForTerminal(target)} from ${escapedForTerminal(source)}${readOnly ? ', read-only' : ''}`,
    ),
    ...skipped.map((source) => `  ${escapedForTerminal(source)} does not exist and is left out`),
    '',
    'environment in the session',
    ...Object.entries(environment).map(
      ([name, value]) => `  ${escapedForTerminal(name)}=${escapedForTerminal(value)}`,
    ),
    ...(container.runs ? [] : ['', 'command that starts the container', callText(container.start)]),
    '',
    'command of the session (replaces the login program)',
    callText(becomes),
  ].join('\n');
}

/** Whether the user gets no session because of a mistake in the configuration. */
function isMistake({ code }: SessionPlan): boolean {
  return code !== undefined && code !== 'profile-not-matched';
}

function obstaclesText(obstacles: SessionPlan['obstacles']): string[] {
  if (obstacles.length === 0) return [];
  return [
    '',
    'problems: a login would fail now',
    ...obstacles.flatMap(({ id, message, next = '' }) => [
      `  ${id}: ${escapedForTerminal(message)}`,
      `    ${escapedForTerminal(next)}`,
    ]),
    '',
  ];
}

function callText({ file, args, env }: ProgramCall): string {
  const words = [
    'env',
    '-i',
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
    file,
    ...args.slice(1),
  ];
  return `  ${escapedForTerminal(shellWords(words))}`;
}

/**
 * Writes the plan of a session to standard output.
 *
 * @returns The exit status: 0 for a session, 77 (EX_NOPERM) if the user is refused, 78 (EX_CONFIG) if the user's profile
 *   has a mistake, 69 (EX_UNAVAILABLE) if a login would fail.
 */
export function writeSessionPlan(
  plan: SessionPlan,
  output: string,
  { stdout }: Pick<Terminal, 'stdout'>,
): number {
  if (output === 'text') stdout.write(`${sessionPlanText(plan)}\n`);
  else stdout.write(documentText('SessionPlan', plan));
  if (plan.code !== undefined) return isMistake(plan) ? exitCodes.config : exitCodes.permission;
  return plan.obstacles.length > 0 ? exitCodes.unavailable : 0;
}
