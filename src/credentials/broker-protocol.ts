import type { ErrorCode, ExitClass } from '../system/errors/berth-error.ts';

/**
 * The request of `kube-credential` to root's broker: one line of JSON, answered by another. It does not
 * name the user, whom the broker knows from the kernel (`brokerClientUid`).
 */
export interface BrokerRequest {
  /** OnDemand's name of the cluster. */
  readonly cluster: string;
}

export type BrokerAnswer =
  | {
      readonly token: string;
      /** Seconds since the epoch. */
      readonly expiry: number;
    }
  | {
      readonly error: {
        readonly code: ErrorCode;
        readonly message: string;
        readonly hint: string;
        readonly exit: ExitClass;
      };
    };

/** The path of a user's socket. systemd creates it, owned by the user, mode 0600. */
export function brokerSocket(uid: number): string {
  return `/run/berth/broker/${uid}.sock`;
}

/** The systemd unit of a user's socket. */
export function brokerSocketUnit(uid: number): string {
  return `berth-broker@${uid}.socket`;
}
