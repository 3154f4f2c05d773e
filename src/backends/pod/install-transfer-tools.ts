import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError, isErrno } from '../../errors/berth-error.ts';
import type { BundledProgram } from '../../bundled-transfer-argv.ts';
import { notInstalled, probeArgv, unpackArgv } from './objects/transfer-scripts.ts';
import type { PodTarget } from '../../kube-exec/open-exec.ts';
import { runPodCommand } from '../../kube-exec/pod-command.ts';

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
    `installing ${program} in the pod failed with exit code ${exitCode}: ${stderr}`,
    { code: 'transfer-tools-not-copied', cause: reason },
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
    if (!isErrno(thrown)) throw thrown;
    throw new BerthError(`the image has no ${program}, and this host has none to install`, {
      code: 'transfer-tools-missing',
      cause: thrown,
    });
  }
}
