import { goPrograms, requiredVersion } from '../site/go-build.ts';

const module = new URL('.', import.meta.url).pathname;
const exporter = 'github.com/nginx/nginx-prometheus-exporter';

/** nginx's exporter for Prometheus, from the cache directory or built. @returns its path */
export async function nginxExporter(): Promise<string> {
  const built = await goPrograms({
    name: `nginx-exporter-${await requiredVersion(module, exporter)}`,
    module,
    programs: { exporter },
    flags: ['-trimpath', '-ldflags', '-s -w'],
  });
  return built.exporter;
}
