import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProcessStart } from '../processes.ts';
import type { NodeBinaries } from './binaries.ts';
import {
  cniDirectories,
  containerdSocket,
  pauseImage,
  registriesDirectory,
} from './containerd-paths.ts';
import { nsenterArgs } from './namespaces.ts';

/** Addresses of the pods on the bridge. */
export const podCidr = '10.244.0.0/16';

/** Writes the configuration of containerd and CNI. @returns how to start containerd */
export async function prepareContainerd(
  directory: string,
  init: number,
  binaries: NodeBinaries,
): Promise<ProcessStart> {
  const own = join(directory, 'containerd');
  const cni = cniDirectories(directory);
  for (const part of [cni.conf, cni.bin]) await mkdir(part, { recursive: true });
  await mkdir(registriesDirectory(directory), { recursive: true });
  await writeFile(join(cni.conf, '10-bridge.conflist'), JSON.stringify(bridge));
  const config = join(own, 'config.toml');
  await writeFile(config, configuration(directory, own, binaries));
  return {
    name: 'containerd',
    command: 'nsenter',
    args: nsenterArgs(init, [binaries.containerd, '--config', config]),
    directory,
  };
}

function configuration(directory: string, own: string, { runc }: NodeBinaries): string {
  const { conf, bin } = cniDirectories(directory);
  return `
version = 3
root = '${join(own, 'root')}'
state = '/run/containerd'
[grpc]
  address = '${containerdSocket}'
[plugins.'io.containerd.cri.v1.images']
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = '${pauseImage}'
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = '${registriesDirectory(directory)}'
[plugins.'io.containerd.cri.v1.runtime']
  # root without CAP_SYS_RESOURCE, as in some virtual machines, must not lower the score.
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['/usr/lib/cni', '${bin}']
    conf_dir = '${conf}'
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = 'runc'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = 'io.containerd.runc.v2'
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
        BinaryName = '${runc}'
        SystemdCgroup = false
`;
}

const bridge = {
  cniVersion: '1.0.0',
  name: 'bridge',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      hairpinMode: true,
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: podCidr }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};
