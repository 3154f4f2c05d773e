import { oscArguments, runHook } from '../src/portal/run-hook.ts';
import { leave } from '../src/system/leave.ts';

/**
 * In the place of OSC's script of this name: `k8s-bootstrap USER HOOK_ENV` makes the user's namespace on every
 * cluster.
 */
void runHook(
  () => ({
    ...oscArguments(process.argv.slice(2)),
    parts: { bootstrap: true, credentials: false },
  }),
  process.env,
).then(leave);
