import { asBerthError } from '../errors.ts';
import { planLogin, type PlanInput } from '../flows/plan-login.ts';
import { hookRequest } from '../flows/run-hook.ts';
import { writePlan } from './plan-output.ts';
import { errorText, type TextStream } from './terminal.ts';

/** `pre-pun --dry-run`: the same plan as `berth plan`. @returns The exit status. */
export async function dryRun(
  read: () => Pick<PlanInput, 'username' | 'files'>,
  process: {
    readonly stdout: TextStream;
    readonly stderr: TextStream;
    readonly env: Readonly<Record<string, string | undefined>>;
  },
): Promise<number> {
  try {
    const sections = await planLogin({ ...hookRequest(read), now: Date.now() / 1000 });
    return writePlan(sections, 'text', process);
  } catch (thrown) {
    const error = asBerthError(thrown, 'the plan');
    process.stderr.write(errorText(error));
    return error.exitCode;
  }
}
