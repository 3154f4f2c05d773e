import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fileIdentity, readConfigFile } from '../system/config-files.ts';
import { decodeUtf8 } from '../system/trusted-text.ts';
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
 * @throws {BerthError} `config-…` of `readConfigFile`, `config-not-utf8`, `config-yaml-invalid`
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

  const read = readConfigFile(file, process.geteuid?.() ?? 0);
  const { parseYaml } = await import('../config/yaml-document.ts');
  const document = parseYaml(decodeUtf8(read), file, 'kubectl');
  if (remember) keep(path, { file, identity: read.identity, document });
  return document;
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
