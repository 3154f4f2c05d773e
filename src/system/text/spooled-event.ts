/** The fields of an event that are counted, or counted by. Nothing that names a user. */
export const countedFields = [
  'backend',
  'by',
  'cluster',
  'code',
  'exit',
  'limit',
  'profile',
  'result',
  'took_ms',
  'start_ms',
  'configuration_ms',
  'credentials_ms',
  'clusters_ms',
  'seconds',
  'received_bytes',
  'sent_bytes',
] as const;

/** An event as it is in the spool. */
export type SpooledEvent = { readonly program: string; readonly event: string } & Readonly<
  Partial<Record<(typeof countedFields)[number], string | number>>
>;
