import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { BerthError } from '../errors.ts';
import { fileIdentity, readConfigFile } from '../system/config-files.ts';
import { readPrivateFile, writePrivateFile } from '../system/private-file.ts';

interface Kept {
  readonly file: string;
  readonly identity: string;
  readonly document: unknown;
}

/** In bytes; a kubeconfig of thousands of clusters has a few MiB. */
const largest = 16 * 1024 * 1024;

/**
 * Root's kubeconfig as a plain value. Parsing YAML takes longer than all requests of a login, so the
 * value is cached as JSON, mode 0600, as long as the file is unchanged (`fileIdentity`, which covers
 * contents, owner and mode).
 *
 * @param remember False for a dry run, which writes nothing.
 * @throws {BerthError} `config-…` of `readConfigFile`, `admin-kubeconfig-invalid`
 */
export async function readAdminKubeconfig(
  file: string,
  { stateDir, remember }: { readonly stateDir: string; readonly remember: boolean },
): Promise<unknown> {
  const name = createHash('sha256').update(file).digest('hex').slice(0, 32);
  const path = join(stateDir, 'kubeconfigs', `${name}.json`);
  const identity = fileIdentity(file);
  const kept = readKept(path);
  if (kept?.file === file && kept.identity === identity) return kept.document;

  const { bytes, identity: read } = readConfigFile(file, process.geteuid?.() ?? 0);
  const document = await parseKubeconfigYaml(bytes.toString(), file);
  if (remember) keep(path, { file, identity: read, document });
  return document;
}

/** @throws {BerthError} `admin-kubeconfig-invalid` */
async function parseKubeconfigYaml(text: string, file: string): Promise<unknown> {
  const { parseYaml } = await import('../config/yaml-document.ts');
  try {
    return parseYaml(text, file, 'kubectl');
  } catch {
    throw new BerthError(`${file}: this is not valid YAML`, {
      code: 'admin-kubeconfig-invalid',
      hint: 'See `kubectl config view --kubeconfig FILE`.',
      fields: { file },
    });
  }
}

function readKept(path: string): Kept | undefined {
  try {
    const text = readPrivateFile(path, process.geteuid?.() ?? 0, largest);
    return text === undefined ? undefined : (JSON.parse(text) as Kept);
  } catch {
    // Not ours or incomplete: the kubeconfig is read, and the copy replaced.
    return undefined;
  }
}

function keep(path: string, kept: Kept): void {
  try {
    writePrivateFile(path, JSON.stringify(kept));
  } catch {
    // A full or read-only state directory slows down the next login; settings-cache reports it.
  }
}
