import { configError } from '../config/config-error.ts';
import type { ConfigFile } from '../system/config-files.ts';

/** @throws BerthError `config-not-utf8` */
export function utf8(file: ConfigFile): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(file.bytes);
  } catch {
    const hint = 'Save it as UTF-8.';
    throw configError('config-not-utf8', file.path, 'is not UTF-8', hint);
  }
}
