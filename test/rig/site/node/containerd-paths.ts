import { join } from 'node:path';

/** containerd's socket, below the node's own /run: reached inside only. */
export const containerdSocket = '/run/containerd/containerd.sock';

/** Where containerd looks registries up: a folder `ADDRESS` with `hosts.toml` for each. */
export function registriesFolder(folder: string): string {
  return join(folder, 'containerd', 'certs.d');
}

/** Where containerd finds CNI's configuration and, besides Debian's, its plugins. */
export function cniFolders(folder: string): { readonly conf: string; readonly bin: string } {
  return { conf: join(folder, 'containerd', 'net.d'), bin: join(folder, 'containerd', 'cni') };
}

/** Image of the container that holds a pod's namespaces. */
export const pauseImage = 'localhost/berth-pause:1';
