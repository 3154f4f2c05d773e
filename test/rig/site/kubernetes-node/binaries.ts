import { goPrograms, requiredVersion } from '../go-build.ts';
import { ensurePackages } from '../debian-packages.ts';

/** Paths of the programs of a node, besides kubelet. */
export interface NodeBinaries {
  readonly containerd: string;
  /** containerd looks for it in its own directory. */
  readonly shim: string;
  readonly ctr: string;
  readonly runc: string;
}

const containerdModule = new URL('containerd/', import.meta.url).pathname;
const containerd = 'github.com/containerd/containerd/v2';
const runcModule = new URL('runc/', import.meta.url).pathname;
const runc = 'github.com/opencontainers/runc';

/** Builds the programs (two minutes) unless they are cached. Debian's versions lack supplementalGroupsPolicy. */
export async function nodeBinaries(): Promise<NodeBinaries> {
  await ensurePackages(['gcc', 'libc6-dev', 'libseccomp-dev', 'pkg-config']);
  const version = await requiredVersion(containerdModule, containerd);
  const built = await goPrograms({
    name: `containerd-${version}`,
    module: containerdModule,
    programs: {
      containerd: `${containerd}/cmd/containerd`,
      'containerd-shim-runc-v2': `${containerd}/cmd/containerd-shim-runc-v2`,
      ctr: `${containerd}/cmd/ctr`,
    },
    flags: [
      ...['-trimpath', '-tags', 'no_btrfs,no_zfs'],
      ...['-ldflags', `-s -w -X ${containerd}/version.Version=${version}`],
    ],
  });
  const runtime = await goPrograms({
    name: `runc-${await requiredVersion(runcModule, runc)}`,
    module: runcModule,
    programs: { runc },
    flags: ['-trimpath', '-tags', 'seccomp', '-ldflags', '-s -w'],
    env: { CGO_ENABLED: '1' },
  });
  return {
    containerd: built.containerd,
    shim: built['containerd-shim-runc-v2'],
    ctr: built.ctr,
    runc: runtime.runc,
  };
}
