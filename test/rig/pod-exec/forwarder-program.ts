/**
 * Runs one forwarder, as `login` does beside its relay. The argument is a `ForwarderInput` with a pod as JSON; the
 * log goes to stderr. The program prints `begun` when the forwarder is ready, and exits at the end of stdin.
 */
import { writeSync } from 'node:fs';
import { forwardingToPod } from '../../../src/sessions/backends/pod/open-pod-session.ts';
import { Forwarder, type ForwarderInput } from '../../../src/sessions/forwarding/forwarder.ts';
import type { PodTarget } from '../../../src/sessions/exec/open-exec.ts';
import { lineLogger } from '../../../src/log.ts';
import { exitNow } from '../../../src/system/exit-now.ts';
import { disableJit } from '../../../src/sessions/exec/relay-session.ts';

const input = JSON.parse(process.argv[2] ?? '{}') as PodTarget &
  Omit<ForwarderInput, 'log' | 'target'>;
const log = lineLogger((line) => void writeSync(2, `${line}\n`));
const bridge = new Forwarder({ ...input, target: forwardingToPod(input), log });
disableJit();
void bridge
  .own()
  .then(() => bridge.ports())
  .then(() => writeSync(1, 'begun\n'));
process.stdin.resume().once('end', () => void bridge.stop().then(() => exitNow(0)));
