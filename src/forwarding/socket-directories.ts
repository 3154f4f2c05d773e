/**
 * Directories on the login node for the Unix sockets of forwards, below a directory that only the user can access: nobody
 * else can create a socket there.
 */
export interface SocketDirectories {
  /** A socket `/tmp/NAME` in the pod appears here as NAME, for `-L PORT:DIRECTORY/NAME`. */
  readonly local: string;
  /** A socket that sshd creates here for `-R DIRECTORY/NAME:…` appears in the pod as `/tmp/NAME`. */
  readonly remote: string;
}

/** @param directory in the user's runtime directory */
export function socketDirectories(directory: string): SocketDirectories {
  return { local: `${directory}/local`, remote: `${directory}/remote` };
}
