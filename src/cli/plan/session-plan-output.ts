import { stringify } from 'yaml';
import type { SessionPlan } from '../../ssh/open/plan-session.ts';
import type { PlanFormat } from './plan-output.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { isMistake, sessionPlanText } from './session-plan-text.ts';
import { type Terminal } from '../kit/terminal.ts';
import { documentText, json } from '../kit/json-document.ts';

/**
 * Writes the plan of a session to standard output.
 *
 * @returns The exit status: 0 for a session, 77 (EX_NOPERM) if the user is refused, 78 (EX_CONFIG) if the user's profile
 *   has a mistake, 69 (EX_UNAVAILABLE) if a login would fail.
 */
export function writeSessionPlan(
  plan: SessionPlan,
  format: PlanFormat,
  { stdout }: Pick<Terminal, 'stdout'>,
): number {
  if (format === 'text') stdout.write(`${sessionPlanText(plan)}\n`);
  else stdout.write(documentText('SessionPlan', plan, format === 'json' ? json : stringify));
  if (plan.code !== undefined) return isMistake(plan) ? exitCodes.config : exitCodes.permission;
  return plan.obstacles.length > 0 ? exitCodes.unavailable : 0;
}
