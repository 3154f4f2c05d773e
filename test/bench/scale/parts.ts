import type { RecordFigure } from './figures.ts';

export interface ScalePart {
  /** A line above its figures. */
  readonly title: string;
  /** Measures, and records each figure as soon as it is known. Sets up and removes all that it needs. */
  run(record: RecordFigure): Promise<void>;
}

/** The parts, by the name on the command line. Each module is loaded when its part runs. */
export const scaleParts: Readonly<Record<string, (() => Promise<ScalePart>) | undefined>> = {
  broker: async () => (await import('./parts/broker.ts')).broker,
  'kube-credential': async () => (await import('./parts/kube-credential.ts')).kubeCredential,
  'pod-sessions': async () => (await import('./parts/pod-sessions.ts')).podSessions,
  'slurm-sessions': async () => (await import('./parts/slurm-sessions.ts')).slurmSessions,
  namespaces: async () => (await import('./parts/namespaces.ts')).namespaces,
  logins: async () => (await import('./parts/logins.ts')).logins,
  objects: async () => (await import('./parts/objects.ts')).objects,
  connections: async () => (await import('./parts/connections.ts')).connections,
  'node-reap': async () => (await import('./parts/node-reap.ts')).nodeReap,
  subid: async () => (await import('./parts/subid.ts')).subid,
  'sshd-lint': async () => (await import('./parts/sshd-lint.ts')).sshdLint,
  'images-gc': async () => (await import('./parts/images-gc.ts')).imagesGc,
  'many-nodes': async () => (await import('./parts/many-nodes.ts')).manyNodes,
  spool: async () => (await import('./parts/spool.ts')).spool,
  reap: async () => (await import('./parts/reap.ts')).reap,
  doctor: async () => (await import('./parts/doctor.ts')).doctor,
  hub: async () => (await import('./parts/hub.ts')).hub,
  'ldap-sync': async () => (await import('./parts/ldap-sync.ts')).ldapSync,
};
