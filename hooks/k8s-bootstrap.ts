import { oscArguments, runHook } from '../src/portal/run-hook.ts';
import { leave } from '../src/system/leave.ts';

/**
 * Replaces OSC's `k8s-bootstrap-ondemand.sh`: `k8s-bootstrap USER HOOK_ENV` creates the user's namespace on
 * every cluster.
 */
void runHook(
  () => ({
    ...oscArguments(process.argv.slice(2)),
    parts: { bootstrap: true, credentials: false },
  }),
  process.env,
).then(leave);
