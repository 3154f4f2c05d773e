import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError, isErrno } from '../../errors.ts';
import type { BundledProgram } from '../../transfer-tools.ts';
import { nothingThere, programProbe, unpackWords } from './objects/transfer-scripts.ts';
import type { PodPlace } from './exec/open-exec.ts';
import { podCommand } from './exec/pod-command.ts';

export interface BringFiles extends PodPlace {
  readonly program: BundledProgram;
  /** What `berth images files` made. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/**
 * Brings the login node's own programs for file transfer into a pod whose image has none: once, then
 * they are there for as long as the pod.
 *
 * @throws {BerthError} `transfer-tools-missing`, `transfer-tools-not-copied`; what `openExec` throws
 */
export async function bringFiles(input: BringFiles): Promise<void> {
  const { program, folder, ...call } = input;
  const probe = await podCommand({ ...call, argv: programProbe(program) });
  if (probe.exitCode !== nothingThere) return;
  const files = await filesOf(folder, program);
  const argv = unpackWords(files.map(({ name, bytes }) => ({ name, size: bytes.length })));
  const { exitCode, reason, stderr } = await podCommand({
    ...call,
    argv,
    input: files.map(({ bytes }) => bytes),
  });
  if (exitCode === 0) return;
  throw new BerthError(`bringing ${program} into the pod: exit code ${exitCode}: ${stderr}`, {
    code: 'transfer-tools-not-copied',
    exit: 'unavailable',
    hint: 'The image needs cat, chmod, head, mkdir, mv and tail, or an sftp-server and scp of its own.',
    cause: reason,
  });
}

async function filesOf(
  folder: string,
  program: BundledProgram,
): Promise<{ readonly name: string; readonly bytes: Buffer }[]> {
  try {
    const names = await readdir(folder, { recursive: true, withFileTypes: true });
    return await Promise.all(
      names
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .map(async (path) => ({
          name: path.slice(folder.length + 1),
          bytes: await readFile(path),
        })),
    );
  } catch (thrown) {
    if (!isErrno(thrown)) throw thrown;
    throw new BerthError(`the image has no ${program}, and this host has none to bring`, {
      code: 'transfer-tools-missing',
      exit: 'unavailable',
      hint: 'Have the admin run `berth images files`, or take an image that has it.',
      cause: thrown,
    });
  }
}
