/** What a line says that reports no error: those have a code, which docs/errors.md explains. */
interface LogEventText {
  /** When it is written, as a sentence. */
  readonly when: string;
  /** Its fields, besides `level` and `msg`, with what each is. */
  readonly fields: Readonly<Record<string, string>>;
}

const user = 'name of the account';
const session = 'ID of the session';
const uid = 'UID of the account';
const cluster = "OnDemand's name of the cluster";
const rhost = 'address of the client, or of the balancer';
const why = 'the reason';
const ofLogin = { user, session };
const ofNamespace = {
  ...ofLogin,
  cluster,
  took_ms: 'milliseconds',
  repaired: 'objects that were changed back',
};
/** What the user's own login says, not root. */
const ofSessions = {
  sessions: 'shells, commands and transfers that were started; at most 100 are counted',
  profile: 'of the first',
  backend: '`podman`, `pod` or `slurm`, of the first',
  exit: "exit status of the last, if Berth relays it: of pods and jobs; in a container it is podman's",
};
const groups = { missing: 'GIDs that the pod lacks', gone: 'GIDs that the user no longer has' };

/** Every event that Berth logs, by its `msg`. The types of `Logger` allow no other, and no other field. docs/log-lines.md lists them. */
export const logEvents = {
  'portal login': {
    when: 'The hook of a login at the portal has ended.',
    fields: {
      ...ofLogin,
      exit: 'exit status',
      code: 'the code of the first error',
      took_ms: 'milliseconds, of which the phases are',
      configuration_ms: 'to read the configuration and the account',
      credentials_ms: 'to make credentials, while the clusters answer',
      clusters_ms: 'to wait for the clusters after that',
    },
  },
  'namespace created': {
    when: 'The user has got a namespace. Not in syslog.',
    fields: ofNamespace,
  },
  'namespace adopted': {
    when: "A namespace that existed before has become the user's. Not in syslog.",
    fields: ofNamespace,
  },
  'namespace kept': { when: 'The namespace was there. Not in syslog.', fields: ofNamespace },
  'kubeconfig written': {
    when: 'A kubeconfig of the user has changed. Not in syslog.',
    fields: ofLogin,
  },
  'credential handed out': {
    when: "The broker has given a token to the user's kubectl.",
    fields: {
      session: 'ID of the login that the credential is from',
      uid,
      cluster,
      took_ms: 'milliseconds',
    },
  },
  'account looked up': {
    when: 'A JupyterHub has asked for an account.',
    fields: { user },
  },
  'namespace made for a hub': {
    when: "A JupyterHub has asked for a user's namespace, and got it.",
    fields: { user, cluster, namespace: 'its name' },
  },
  'stored credentials removed': {
    when: "`berth token rotate` has removed root's credentials of a former account.",
    fields: { uid, why },
  },
  'stored credentials would be removed': {
    when: '`berth token rotate --dry-run` would remove them.',
    fields: { uid, why },
  },
  'session opened': {
    when: 'PAM has opened the session of an SSH connection.',
    fields: {
      ...ofLogin,
      rhost,
      client: 'address and port of the client behind a balancer',
      peer: "the balancer's end of the connection",
      port: 'port of sshd',
    },
  },
  'session closed': {
    when: 'An SSH connection has ended, and what it started was ended.',
    fields: {
      ...ofLogin,
      rhost,
      seconds: 'how long it was open',
      by: '`reaper`, if PAM missed it',
      processes: 'how many were ended',
      containers: 'how many were removed',
      received_bytes: 'from the client',
      sent_bytes: 'to the client',
      ...ofSessions,
    },
  },
  'processes ended without inspecting them: reading /proc hung': {
    when: 'A process of the user kept whoever read its files in /proc waiting, the cleanup too.',
    fields: {
      user,
      killed: 'how many processes that ended connections had left',
      aborted: 'how many FUSE connections were aborted',
      connections: 'ten of them: numbers in /sys/fs/fuse/connections, separated by spaces',
    },
  },
  'session ended at its limit': {
    when: '`berth reap` has ended a session.',
    fields: { ...ofLogin, limit: '`hard` or `idle`' },
  },
  'the address of the client was not looked up: too many TCP connections': {
    when: 'A session is opened without `client`, `peer` and `port`.',
    fields: ofLogin,
  },
  'a shell on the host instead of a session': {
    when: '`host_shell_groups` or `failure` gave the user a shell on the host.',
    fields: { ...ofLogin, why },
  },
  "deleted the pod to apply the user's changed groups": {
    when: 'A user whose groups have changed gets a new pod.',
    fields: { ...ofLogin, code: '`pod-groups-renewed`', ...groups },
  },
  'the agent and the display are not forwarded to the session': {
    when: 'A pod or job has no agent and X11.',
    fields: { ...ofLogin, why },
  },
  'X11 is not forwarded to the session': {
    when: 'A pod has no X11.',
    fields: { ...ofLogin, display: 'DISPLAY', file: 'the Xauthority file', why },
  },
  'ports are not forwarded to the session': {
    when: 'The image cannot forward ports.',
    fields: { ...ofLogin, why },
  },
  'forwarding of ports has stopped': {
    when: "The helper in a pod or job has ended before the user's sessions.",
    fields: { ...ofLogin, why },
  },
  'not forwarded: this user has reached the limit on this host': {
    when: 'A forwarded connection or port was refused.',
    fields: { ...ofLogin, what: 'what is counted', most: 'the limit' },
  },
  'not forwarded: already in use': {
    when: 'A port of a pod or job is taken on the other side.',
    fields: { ...ofLogin, place: 'the port or socket', where: 'on which side' },
  },
  'another user connected to a forwarded port': {
    when: "A connection was closed, because it is not the user's.",
    fields: { ...ofLogin, port: 'the port', uid: 'who connected' },
  },
} as const satisfies Readonly<Record<string, LogEventText>>;

export type LogEvent = keyof typeof logEvents;

/** The fields that an event may have. */
export type LogEventFields<Event extends LogEvent> = Readonly<
  Partial<Record<keyof (typeof logEvents)[Event]['fields'], string | number | boolean | undefined>>
>;
