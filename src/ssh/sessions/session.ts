import type { Backend } from '../../config/schema/profile/profile.ts';
import type { Endpoint } from '../../system/tcp-table.ts';

/** An open SSH connection of a user, with what it runs and uses. */
export interface Session {
  /** `PID.STARTTIME` of sshd's monitor process, as in syslog. */
  readonly id: string;
  readonly user: string;
  readonly uid: number;
  /**
   * What the configuration gives to this user at this sshd. undefined if that is no profile (a shell on the host), or it
   * could not be determined.
   */
  readonly profile: string | undefined;
  readonly backend: Backend | 'host' | undefined;
  /** Name of the container or the pod that belongs to the profile. */
  readonly name: string | undefined;
  /** Name of another container of Berth that its processes say they are in; users can make them say so. */
  readonly claimedName: string | undefined;
  /** Seconds since the epoch. */
  readonly opened: number;
  /** Seconds since the last input at its terminals, at least since its client sent data; undefined without a terminal. */
  readonly idleSeconds: number | undefined;
  /** Where the client is: the balancer's log, if it has the connection, else the peer of sshd. */
  readonly from: string;
  /** The balancer's end of the connection, if the client's address is from its log. */
  readonly via: Endpoint | undefined;
  /** The other end of sshd's TCP connection; undefined in a record of an earlier version. */
  readonly peer: Endpoint | undefined;
  /** sshd's own end. */
  readonly local: Endpoint | undefined;
  /** The systemd unit of the sshd that accepted it. */
  readonly unit: string | undefined;
  /** Paths of its terminals on this host. */
  readonly terminals: readonly string[];
  readonly processes: number;
  /** CPU time of its running processes. */
  readonly cpuSeconds: number;
  /** Resident memory of its processes. */
  readonly memoryBytes: number;
}
