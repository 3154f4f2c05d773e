/**
 * Folders on the login node for the sockets of forwards, in one that is closed to everybody but the user:
 * nobody else can put a socket there, and none of them is anywhere else.
 */
export interface SocketFolders {
  /** What listens in the pod as `/tmp/NAME` listens here as NAME, for `-L PORT:FOLDER/NAME`. */
  readonly local: string;
  /** What sshd makes here for `-R FOLDER/NAME:…` listens in the pod as `/tmp/NAME`. */
  readonly remote: string;
}

/** @param folder In the user's own folder for what runs. */
export function socketFolders(folder: string): SocketFolders {
  return { local: `${folder}/local`, remote: `${folder}/remote` };
}
