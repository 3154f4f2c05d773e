import { BerthError } from './errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import { type ConfigFile, type ConfigFileOptions, readConfigFile } from './config-files.ts';

/**
 * The text of a file of the site, such as a configuration, a kubeconfig, a token or a CA.
 *
 * @throws {BerthError} `config-…` of `readConfigFile`, `config-not-utf8`
 */
export function readTrusted(path: string, options: ConfigFileOptions = {}): string {
  const file = readConfigFile(path, process.geteuid?.() ?? 0, options);
  const text = file.bytes.toString();
  // RFC 7468, section 5.2: what is around certificates may be text in any encoding.
  return text.includes('-----BEGIN ') ? text : decodeUtf8(file);
}

/** The same, of a file that may be absent or empty. */
export function readIfPresent(path: string): string | undefined {
  return unlessConfigMissing(() => readTrusted(path, { mayBeEmpty: true }));
}

/** @returns undefined if a file of the configuration that is read is absent */
export function unlessConfigMissing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof BerthError && error.code === 'config-missing') return undefined;
    throw error;
  }
}

/** @throws BerthError `config-not-utf8` */
export function decodeUtf8({ path, bytes }: ConfigFile): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new BerthError('config-not-utf8', `${escapeControl(path)} is not UTF-8`, {
      fields: { file: path },
      cause,
    });
  }
}
