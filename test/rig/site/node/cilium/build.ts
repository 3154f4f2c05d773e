import { goPrograms, moduleSources, requiredVersion } from '../../go-build.ts';
import { ensurePackages } from '../../packages.ts';

const module = new URL('.', import.meta.url).pathname;
const cilium = 'github.com/cilium/cilium';

export interface CiliumBinaries {
  readonly agent: string;
  readonly cni: string;
  /** Folder of Cilium's own sources, with its BPF programs and its CRDs; nobody may write to it. */
  readonly sources: string;
}

/** From the cache folder, or built: about five minutes and 2.4 GB of memory. */
export async function ciliumBinaries(): Promise<CiliumBinaries> {
  // The agent compiles its BPF programs; later clangs refuse their code.
  await ensurePackages(['clang-14', 'llvm-14', 'bpftool', 'iptables', 'ipset', 'curl']);
  const version = await requiredVersion(module, cilium);
  const built = await goPrograms({
    name: `cilium-${version}`,
    module,
    programs: { 'cilium-agent': `${cilium}/daemon`, 'cilium-cni': `${cilium}/plugins/cilium-cni` },
    flags: [
      ...['-trimpath', '-tags', 'osusergo'],
      ...['-ldflags', `-s -w -X ${cilium}/pkg/version.ciliumVersion=${version.slice(1)}`],
    ],
    // A kernel without loadable modules has no /proc/modules, and the agent ends without it.
    patch: {
      of: cilium,
      file: 'pkg/datapath/linux/modules/modules_linux.go',
      change: { from: '"/proc/modules"', to: '"/dev/null"' },
    },
  });
  return {
    agent: built['cilium-agent'],
    cni: built['cilium-cni'],
    sources: await moduleSources(module, cilium),
  };
}
