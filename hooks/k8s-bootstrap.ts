import { oscArguments, runHook } from '../src/portal/run-hook.ts';
import { exitNow } from '../src/system/exit-now.ts';

/**
 * Replaces OSC's `k8s-bootstrap-ondemand.sh`: `k8s-bootstrap USER HOOK_ENV` creates the user's namespace on every
 * cluster.
 */
void runHook(process.argv.slice(2), process.env, (args) => ({
  ...oscArguments(args),
  parts: { bootstrap: true, credentials: false },
})).then(exitNow);
