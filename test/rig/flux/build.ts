import { goPrograms, moduleSources, requiredVersion } from '../site/go-build.ts';

const module = new URL('.', import.meta.url).pathname;
const fluxcd = 'github.com/fluxcd';
const sourceController = `${fluxcd}/source-controller`;
const kustomizeController = `${fluxcd}/kustomize-controller`;

export interface FluxBinaries {
  readonly 'source-controller': string;
  readonly 'kustomize-controller': string;
  readonly sops: string;
  readonly 'age-keygen': string;
  /** Directories with the controllers' CRDs. */
  readonly crds: readonly string[];
}

/** Flux's controllers, SOPS and age, from the cache directory or built: minutes, once. */
export async function fluxBinaries(): Promise<FluxBinaries> {
  const built = await goPrograms({
    name: `flux-${await requiredVersion(module, `${kustomizeController}/api`)}`,
    module,
    programs: {
      'source-controller': sourceController,
      'kustomize-controller': kustomizeController,
      sops: 'github.com/getsops/sops/v3/cmd/sops',
      'age-keygen': 'filippo.io/age/cmd/age-keygen',
    },
    flags: ['-trimpath', '-ldflags', '-s -w'],
    env: { GOTOOLCHAIN: 'auto' },
  });
  const crds = await Promise.all(
    [sourceController, kustomizeController].map(
      async (one) =>
        `${await moduleSources(module, one, { GOTOOLCHAIN: 'auto' })}/config/crd/bases`,
    ),
  );
  return { ...built, crds };
}
