import { goPrograms, moduleSources, requiredVersion } from '../site/go-build.ts';

const module = new URL('.', import.meta.url).pathname;
const fluxcd = 'github.com/fluxcd';
const env = { GOTOOLCHAIN: 'auto' };
const flags = ['-trimpath', '-ldflags', '-s -w'];

export interface Controller {
  readonly name: string;
  readonly program: string;
  /** The directory with its CRDs. */
  readonly crds: string;
}

export interface FluxBinaries {
  readonly 'source-controller': Controller;
  readonly 'kustomize-controller': Controller;
  readonly sops: string;
  readonly 'age-keygen': string;
}

/** Flux's source- and kustomize-controller, SOPS and age, from the cache directory or built: minutes, once. */
export async function fluxBinaries(): Promise<FluxBinaries> {
  const source = 'source-controller';
  const kustomize = 'kustomize-controller';
  const built = await goPrograms({
    name: `flux-${await requiredVersion(module, `${fluxcd}/${kustomize}/api`)}`,
    module,
    programs: {
      [source]: `${fluxcd}/${source}`,
      [kustomize]: `${fluxcd}/${kustomize}`,
      sops: 'github.com/getsops/sops/v3/cmd/sops',
      'age-keygen': 'filippo.io/age/cmd/age-keygen',
    },
    flags,
    env,
  });
  return {
    ...built,
    [source]: await controller(module, source, built[source]),
    [kustomize]: await controller(module, kustomize, built[kustomize]),
  };
}

/**
 * Flux's helm-controller, from the cache directory or built: minutes, once. Its newest module is older than the two
 * other controllers, and needs libraries of its time.
 */
export async function helmController(): Promise<Controller> {
  const own = `${module}helm-controller/`;
  const name = 'helm-controller';
  const path = `${fluxcd}/${name}`;
  const { [name]: program } = await goPrograms({
    name: `${name}-${await requiredVersion(own, path)}`,
    module: own,
    programs: { [name]: path },
    flags,
    env,
  });
  return controller(own, name, program);
}

async function controller(from: string, name: string, program: string): Promise<Controller> {
  const sources = await moduleSources(from, `${fluxcd}/${name}`, env);
  return { name, program, crds: `${sources}/config/crd/bases` };
}
