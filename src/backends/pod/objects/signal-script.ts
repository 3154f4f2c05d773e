import { sourceText } from '../../../source-text.ts';
import { procScript } from './proc-script.ts';

/**
 * The argv that sends a signal to the process group of a command started `withExitMarker` in a pod, as sshd does.
 * Kubernetes has no request for signals.
 *
 * @param nonce the command's. It is passed in two halves, so that the script does not find its own command line.
 */
export function signalArgv(nonce: string, signal: string): string[] {
  const half = nonce.length / 2;
  const name = signal.replace(/^SIG/, '');
  const script = procScript + sourceText('./signal.sh', import.meta.url);
  return ['/bin/sh', '-c', script, nonce.slice(0, half), nonce.slice(half), name];
}
