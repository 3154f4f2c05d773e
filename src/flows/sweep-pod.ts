import { BerthError } from '../errors.ts';
import { podContainer } from '../session/pod-object.ts';
import { sweepWords, sweptBy, type PodSweep, type Swept } from '../session/pod-sweep.ts';
import type { OwnInput } from '../system/own-input.ts';
import type { OwnOutput } from '../system/own-output.ts';
import type { PodAccess } from './pod-access.ts';
import { relay } from './relay.ts';

/** What the sweep says is one line. Bytes. */
const longestAnswer = 4096;

/**
 * Ends in a running pod what a connection left there.
 *
 * @throws {BerthError} `pod-not-swept`; `exec-no-pod` and the others of `openExec`, where nothing ran
 */
export async function sweepPod(
  { server, namespace }: PodAccess,
  pod: string,
  sweep: PodSweep,
  signal: AbortSignal,
): Promise<Swept> {
  const stdout = collected();
  const stderr = collected();
  const { exitCode, reason } = await relay({
    ...{ server, stdin: noInput, stdout, stderr, signal },
    target: { namespace, pod, container: podContainer, argv: sweepWords(sweep), tty: false },
  });
  const swept = sweptBy(stdout.text());
  if (swept?.left === 0) return swept;
  const said = reason?.message ?? `exit code ${exitCode}: ${stderr.text()}`;
  const what = swept === undefined ? said : `${swept.left} processes stay`;
  throw new BerthError(`ending what a connection left in pod ${namespace}/${pod}: ${what}`, {
    code: 'pod-not-swept',
    exit: 'temporary',
    hint: '`berth reap` tries again. The image needs /bin/sh and tr.',
    cause: reason,
  });
}

const noInput: OwnInput = {
  start: (reader) => reader.ended(),
  resume: () => undefined,
  stop: () => undefined,
};

function collected(): OwnOutput & { readonly text: () => string } {
  let bytes = Buffer.alloc(0);
  return {
    write: (more) => {
      bytes = Buffer.concat([bytes, more]).subarray(0, longestAnswer);
      return true;
    },
    onDrained: () => undefined,
    onBroken: () => undefined,
    flushed: () => Promise.resolve(),
    text: () => bytes.toString('utf8').trim(),
  };
}
