import { goPrograms, moduleSources, requiredVersion } from '../../site/go-build.ts';

const module = new URL('.', import.meta.url).pathname;
const metallb = 'go.universe.tf/metallb';

export interface MetallbBinaries {
  readonly controller: string;
  readonly speaker: string;
  /** Directory of MetalLB's sources, with its CRDs; read-only. */
  readonly sources: string;
}

/** Builds MetalLB's programs unless they are cached, which takes about two minutes. */
export async function metallbBinaries(): Promise<MetallbBinaries> {
  const built = await goPrograms({
    name: `metallb-${await requiredVersion(module, metallb)}`,
    module,
    programs: { controller: `${metallb}/controller`, speaker: `${metallb}/speaker` },
    flags: ['-trimpath', '-ldflags', '-s -w'],
    // The module proxy lacks v0.0.27 of FRR-K8s, which MetalLB requires. It differs by this type, which only the BGP
    // mode with FRR uses; the tests announce by ARP.
    patch: {
      of: 'github.com/metallb/frr-k8s',
      file: 'api/v1beta1/frrconfiguration_types.go',
      change: { from: 'type Advertise struct {', to: asPathPrepend },
    },
  });
  return { ...built, sources: await moduleSources(module, metallb) };
}

/** The directory of MetalLB's Helm chart. */
export const metallbChart = async (): Promise<string> =>
  `${await moduleSources(module, metallb)}/charts/metallb`;

const asPathPrepend = `type AsPathPrependPrefixes struct {
	Prefixes      []string \`json:"prefixes,omitempty"\`
	AsPathPrepend uint8    \`json:"asPathPrepend,omitempty"\`
}

type Advertise struct {
	PrefixesWithAsPathPrepend []AsPathPrependPrefixes \`json:"prefixesWithAsPathPrepend,omitempty"\`
`;
