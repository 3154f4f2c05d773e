import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BundledProgram } from '../../../config/schema/bundled-transfer-argv.ts';
import { BerthError, expectErrno } from '../../../system/errors/berth-error.ts';
import type { PodTarget } from '../../exec/open-exec.ts';
import { runPodCommand } from '../../exec/pod-command.ts';
import { notInstalled, probeArgv, signalArgv, unpackArgv } from './objects/pod-scripts.ts';

export interface InstallTransferTools extends PodTarget {
  readonly program: BundledProgram;
  /** The directory that `berth images files` has filled. */
  readonly directory: string;
  readonly signal: AbortSignal;
}

/**
 * Installs the login node's programs for file transfer in a pod whose image has none. They stay for the lifetime of the
 * pod.
 *
 * @throws {BerthError} `transfer-tools-missing`, `transfer-tools-not-copied`, the errors of `openExec`
 */
export async function installTransferTools(input: InstallTransferTools): Promise<void> {
  const { program, directory, ...call } = input;
  const probe = await runPodCommand({ ...call, argv: probeArgv(program) });
  if (probe.exitCode !== notInstalled) return;
  const files = await filesOf(directory, program);
  const argv = unpackArgv(files.map(({ name, bytes }) => ({ name, size: bytes.length })));
  const { exitCode, reason, stderr } = await runPodCommand({
    ...call,
    argv,
    input: files.map(({ bytes }) => bytes),
  });
  if (exitCode === 0) return;
  throw new BerthError(
    'transfer-tools-not-copied',
    `installing ${program} in the pod failed with exit code ${exitCode}: ${stderr}`,
    { cause: reason },
  );
}

async function filesOf(
  directory: string,
  program: BundledProgram,
): Promise<{ readonly name: string; readonly bytes: Buffer }[]> {
  try {
    const names = await readdir(directory, { recursive: true, withFileTypes: true });
    return await Promise.all(
      names
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .map(async (path) => ({
          name: path.slice(directory.length + 1),
          bytes: await readFile(path),
        })),
    );
  } catch (thrown) {
    expectErrno(thrown);
    throw new BerthError(
      'transfer-tools-missing',
      `the image has no ${program}, and this host has none to install`,
      {
        cause: thrown,
      },
    );
  }
}

export interface SignalPod extends PodTarget {
  /** The nonce of the command. */
  readonly nonce: string;
  readonly signal: NodeJS.Signals;
}

/** Time limit. Milliseconds. */
const timeoutMs = 5_000;

/**
 * Sends a signal to a command that runs in a pod.
 *
 * @throws {BerthError} `signal-not-delivered`, the errors of `openExec`
 */
export async function signalPod({ server, pod, nonce, signal }: SignalPod): Promise<void> {
  const { exitCode, stderr, reason } = await runPodCommand({
    server,
    pod,
    argv: signalArgv(nonce, signal),
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (exitCode === 0) return;
  throw new BerthError(
    'signal-not-delivered',
    `sending ${signal} to the command failed with exit code ${exitCode}: ${stderr}`,
    {
      cause: reason,
    },
  );
}
