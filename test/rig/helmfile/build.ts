import { goPrograms, requiredVersion } from '../site/go-build.ts';

const module = new URL('.', import.meta.url).pathname;
const helmfile = 'github.com/helmfile/helmfile';

/** helmfile, from the cache directory or built: minutes, once. */
export async function helmfileBinary(): Promise<string> {
  const built = await goPrograms({
    name: `helmfile-${await requiredVersion(module, helmfile)}`,
    module,
    programs: { helmfile },
    flags: ['-trimpath', '-ldflags', '-s -w'],
    env: { GOTOOLCHAIN: 'auto' },
  });
  return built.helmfile;
}
