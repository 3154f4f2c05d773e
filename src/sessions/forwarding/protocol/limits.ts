/**
 * Limits of the forwarding of one session, regardless of what the helper in the pod sends: the user can stop the helper
 * and imitate it. `docs/ssh-pods-internals.md` lists these numbers. Sizes are in bytes.
 */

/** Connections of one session that are open, or whose data is not yet written. */
export const maxConnections = 128;

/** Ports and sockets of one pod that are mirrored on the login node, and those of `-R` in the pod. */
export const maxEndpoints = 64;

/** Unacknowledged data of one connection to the pod; to the login node if the shared window has room. */
export const windowSize = 256 * 1024;

/** Initial window of each connection to the login node. */
export const initialWindow = 16 * 1024;

/** Window that all connections share beyond their initial windows. */
export const sharedWindow = 2 * 1024 * 1024;

/** When this much waits to be sent to the pod, no socket on the login node is read. */
export const fullOutbox = 1024 * 1024;

/** When this much waits, including answers, forwarding ends: the helper does not read. */
export const maxOutbox = 2 * 1024 * 1024;

/** Cost of a waiting frame in addition to its bytes. */
export const frameCost = 256;

/** Longest target of an `open` frame, and longest control message. */
export const maxTargetLength = 128;
export const maxMessageLength = 64 * 1024;
