import { runDir } from '../built-in.ts';

/**
 * What no session may have mounted: what lies there starts things on the host (podman's state, the
 * user's service manager), or says who may do what.
 */
const always = ['/etc/berth', runDir, '/run/user'];

/**
 * Why a folder of the host must not be mounted, as the end of a sentence. A profile's templates are
 * asked as they stand, and each mount once more when it is filled in for a user.
 *
 * @param source an absolute path without `..`; a symlink is taken as its own name
 * @param storage of the site, where it is known
 */
export function mountProblem(source: string, storage?: string): string | undefined {
  if (/^\/*$/.test(source)) return 'is the whole host';
  const folders = storage === undefined ? always : [...always, storage];
  const touched = folders.find((folder) => isWithin(source, folder) || isWithin(folder, source));
  return touched === undefined ? undefined : `exposes ${touched}, which sessions must not reach`;
}

/** True for the folder itself and for all below it. */
export function isWithin(path: string, folder: string): boolean {
  return `${trimmed(path)}/`.startsWith(`${trimmed(folder)}/`);
}

function trimmed(path: string): string {
  return path.replace(/\/+$/, '');
}
