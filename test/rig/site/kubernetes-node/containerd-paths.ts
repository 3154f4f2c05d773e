import { join } from 'node:path';

/** containerd's socket. It is in the node's own /run and can be reached only in the node's mount namespace. */
export const containerdSocket = '/run/containerd/containerd.sock';

/** Configuration of registries for containerd: a directory `ADDRESS` with `hosts.toml` for each. */
export function registriesDirectory(directory: string): string {
  return join(directory, 'containerd', 'certs.d');
}

/** Directories of CNI's configuration and of plugins that Debian does not package. */
export function cniDirectories(directory: string): { readonly conf: string; readonly bin: string } {
  return {
    conf: join(directory, 'containerd', 'net.d'),
    bin: join(directory, 'containerd', 'cni'),
  };
}

/** Image of the pause container, which holds a pod's namespaces. */
export const pauseImage = 'localhost/berth-pause:1';
