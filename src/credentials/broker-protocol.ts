import type { ErrorCode, ExitClass } from '../errors.ts';

/**
 * The conversation between `kube-credential` and root's broker: one line of JSON each way. Who asks
 * is not in it: that is the kernel's to say (`brokerCaller`).
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

/** Where the socket of a user is. systemd makes it, owned by the user, mode 0600. */
export function brokerSocket(uid: number): string {
  return `/run/berth/broker/${uid}.sock`;
}

/** The unit that makes it. */
export function brokerSocketUnit(uid: number): string {
  return `berth-broker@${uid}.socket`;
}
