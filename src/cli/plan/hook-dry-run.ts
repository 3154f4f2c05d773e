import { asBerthError } from '../../system/errors/berth-error.ts';
import { planPrePunHook, type PlanInput } from '../../portal/plan-pre-pun-hook.ts';
import { parsed, type Parser } from '../../portal/run-hook.ts';
import { dryRunText, errorText, textOutputs, type Terminal } from '../kit/terminal.ts';
import { writePlan } from './plan-text.ts';

/** `pre-pun --dry-run`: the same plan as `berth plan`. @returns The exit status. */
export async function hookDryRun(
  args: string[],
  env: Terminal['env'],
  parse: Parser<Pick<PlanInput, 'username' | 'files'>>,
): Promise<number> {
  const outputs = textOutputs();
  const plan = async (): Promise<number> => {
    try {
      const sections = await planPrePunHook({ ...parsed(args, parse), now: Date.now() / 1000 });
      const status = writePlan(sections, 'text', { ...outputs, env });
      outputs.stderr.write(dryRunText);
      return status;
    } catch (thrown) {
      const error = asBerthError(thrown, 'the plan');
      outputs.stderr.write(errorText(error));
      return error.exitCode;
    }
  };
  return Math.max(await plan(), await outputs.finished());
}
