import { oscArguments, runHook } from '../src/portal/run-hook.ts';
import { exitNow } from '../src/system/exit-now.ts';

/**
 * Replaces OSC's `set-k8s-creds.sh`: `set-k8s-creds USER HOOK_ENV` writes credentials into the user's
 * kubeconfig.
 */
void runHook(process.argv.slice(2), process.env, (args) => ({
  ...oscArguments(args),
  parts: { bootstrap: false, credentials: true },
})).then((code) => exitNow(code, process.env.BERTH_SHELL));
