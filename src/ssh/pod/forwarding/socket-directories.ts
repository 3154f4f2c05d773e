/**
 * Directories on the login node for the Unix sockets of forwards, below a directory that only the user can access: nobody
 * else can create a socket there.
 */
export interface SocketFolders {
  /** A socket `/tmp/NAME` in the pod appears here as NAME, for `-L PORT:DIRECTORY/NAME`. */
  readonly local: string;
  /** A socket that sshd creates here for `-R DIRECTORY/NAME:…` appears in the pod as `/tmp/NAME`. */
  readonly remote: string;
}

/** @param folder in the user's runtime directory */
export function socketFolders(folder: string): SocketFolders {
  return { local: `${folder}/local`, remote: `${folder}/remote` };
}
