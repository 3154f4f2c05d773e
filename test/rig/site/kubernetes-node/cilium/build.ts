import { goPrograms, moduleSources, requiredVersion } from '../../go-build.ts';
import { ensurePackages } from '../../debian-packages.ts';

const module = new URL('.', import.meta.url).pathname;
const cilium = 'github.com/cilium/cilium';

export interface CiliumBinaries {
  readonly agent: string;
  readonly cni: string;
  /** Directory of Cilium's sources, with its BPF programs and CRDs; read-only. */
  readonly sources: string;
}

/** Builds the programs unless they are cached, which takes about five minutes and 2.4 GB of memory. */
export async function ciliumBinaries(): Promise<CiliumBinaries> {
  // The agent compiles its BPF programs; later versions of clang reject their code.
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
    // The agent exits if /proc/modules is missing, as with a kernel without loadable modules.
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
