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

/** The directory for sockets and locks that the user's sessions share. */
export function forwardingStateDir(runtimeDir: string): string {
  return `${runtimeDir}/berth-bridge`;
}

/** The directories for the sockets of the user's forwards. sshd creates some of them before the session starts. */
export function forwardSocketDirs(runtimeDir: string): SocketDirectories {
  const directory = `${runtimeDir}/berth-forwards`;
  return { local: `${directory}/local`, remote: `${directory}/remote` };
}
