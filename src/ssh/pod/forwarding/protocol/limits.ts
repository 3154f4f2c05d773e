/**
 * What one bridge holds at most, whatever the program in the pod says: that program is the user's, who may
 * stop it and speak in its place. `docs/ssh-pods.md` states these numbers. Sizes are in bytes.
 */

/** Connections of one bridge that stand at a time, or of which something waits still. */
export const mostConnections = 128;

/** Ports and sockets of one pod that are there on the login node as well, and those of `-R` in the pod. */
export const mostPlaces = 64;

/** Of a connection, what may be on its way to the pod without an answer; to the login node, where there is room. */
export const windowSize = 256 * 1024;

/** What each connection may have on its way to the login node at first. */
export const firstWindow = 16 * 1024;

/** Of all connections together, beyond their first windows. */
export const sharedWindow = 2 * 1024 * 1024;

/** Frames for the pod: with so much waiting, nothing more is read from any socket of the login node. */
export const fullOutbox = 1024 * 1024;

/** Frames that answer what came count too: a program that asks and reads nothing is not listened to. */
export const mostOutbox = 2 * 1024 * 1024;

/** What a frame that waits costs beyond its bytes. */
export const frameCost = 256;

/** The longest frames of each kind; see `kinds`. */
export const longestTarget = 128;
export const longestWord = 64 * 1024;
