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

/** A kubeconfig of thousands of clusters has some megabytes. */
const largest = 16 * 1024 * 1024;

/**
 * Root's kubeconfig as a plain value. Parsing YAML costs more than all requests of a login, so the
 * value is kept as JSON, mode 0600, for as long as the file is the very same (`fileIdentity`: a new
 * token, another owner or mode make it another file).
 *
 * @param remember False for a dry run, which leaves no trace.
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
    throw new BerthError(`${file}: this is not YAML`, {
      code: 'admin-kubeconfig-invalid',
      exit: 'config',
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
    // Not ours or not whole: the kubeconfig itself is read, and the copy written anew.
    return undefined;
  }
}

function keep(path: string, kept: Kept): void {
  try {
    writePrivateFile(path, JSON.stringify(kept));
  } catch {
    // A full or read-only state folder costs the next login a parse; settings-cache has said so.
  }
}
