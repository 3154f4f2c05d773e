import { writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { runHook, hookUsageError, type HookRequest } from '../src/portal/run-hook.ts';
import { exitNow } from '../src/system/exit-now.ts';

const usage = `usage: pre-pun --user NAME [--config FILE] [--dry-run]

Open OnDemand's pre-PUN hook: makes the user's namespace on every Kubernetes cluster of clusters.d
and writes credentials into the user's kubeconfig. nginx_stage runs it as root when a user's nginx starts, not at each login.

  --user NAME    who logs in
  --config FILE  in place of /etc/berth/berth.yml
  --dry-run      show what would change, change nothing; exit 0: nothing, 1: changes, 2 and more: error

example: pre-pun --user alice --dry-run
`;

async function main(args: string[]): Promise<number> {
  if (args.includes('--help')) {
    writeSync(1, usage);
    return 0;
  }
  if (!args.includes('--dry-run'))
    return runHook(args, process.env, (all) => ({ ...request(all), parts: everything }));
  const { hookDryRun } = await import('../src/cli/plan/hook-dry-run.ts');
  return hookDryRun(args, process.env, request);
}

const everything = { bootstrap: true, credentials: true };

function request(args: string[]): Pick<HookRequest, 'username' | 'files'> {
  const { user, config } = parseArgs({
    args,
    options: {
      user: { type: 'string' },
      config: { type: 'string' },
      'dry-run': { type: 'boolean' },
    },
  }).values;
  if (user === undefined) throw hookUsageError('--user NAME is missing');
  return { username: user, files: config === undefined ? {} : { configFile: config } };
}

void main(process.argv.slice(2)).then((code) => exitNow(code, process.env.BERTH_SHELL));
