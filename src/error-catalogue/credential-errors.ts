import type { CatalogueEntries } from './entry.ts';

/** The user's kubeconfig, cached credentials, kube-credential and the broker. */
export const credentialErrors = {
  'kubectl-call-invalid': {
    what: '`kube-credential` was not called in the way kubectl calls it.',
    why: 'It was run by hand, or the user entry of the kubeconfig was edited: `provideClusterInfo: true` is missing or its arguments were changed.',
    next: 'Run kubectl instead. The user chooses Help > Restart Web Server in the portal: the hook writes the entry again.',
  },
  'credential-missing': {
    what: 'There is no credential of this user for the cluster.',
    why: 'The hook has not run since the account or the cluster was added, it failed (see syslog), or the cache directory ~/.kube/cache/berth was deleted.',
    next: 'The user chooses Help > Restart Web Server in the portal. If the error persists, look at `journalctl -t berth | grep user=NAME`.',
  },
  'credential-of-other-issuer': {
    what: 'The issuer of the cluster has changed since the credential was issued. The refresh token is not sent to the new one.',
    why: '`credentials.issuer` or IDP_ISSUER_URL was changed, or `berth clusters discover` wrote another issuer.',
    next: 'Check that the issuer of the cluster is right. Then the user logs out of the portal and logs in again.',
  },
  'credential-expired': {
    what: 'The credential has expired and cannot be renewed, because there is no refresh token.',
    why: 'The portal passes no refresh token to the hook: see `refresh-token-missing`.',
    next: 'The user logs out of the portal and logs in again.',
  },
  'credential-short-lived': {
    what: 'A new token was issued, but it expires within seconds and cannot be used.',
    why: 'The lifetime of access tokens at the identity provider is too short, or the clocks differ.',
    next: 'Set a lifetime of at least one minute, better five. Check `chronyc tracking`.',
  },
  'credential-cache-invalid': {
    what: 'A file in ~/.kube/cache/berth is not a credential that Berth wrote.',
    why: 'It was edited or truncated, or an older version wrote it.',
    next: 'Remove the file. The user chooses Help > Restart Web Server: the hook writes it again.',
  },
  'credentials-legacy': {
    what: 'The kubeconfig of the user was written with the client secret and the refresh token in it.',
    why: '`credentials.mode: legacy` is configured.',
    next: 'Use `credentials.mode: oidc`: then the secret stays with root.',
  },
  'broker-unreachable': {
    what: '`kube-credential` could not connect to the socket of the credential broker.',
    why: 'kubectl runs on another host than the portal, the socket was stopped, or it belongs to another user.',
    next: 'On the portal host: `systemctl status "berth-broker@*"`. The user chooses Help > Restart Web Server: that starts the socket.',
  },
  'broker-timeout': {
    what: 'The credential broker did not answer in time.',
    why: 'The identity provider is slow, or the host is overloaded.',
    next: 'Look at `journalctl -u "berth-broker@*"`. kubectl tries again at its next call.',
  },
  'broker-answer-invalid': {
    what: 'The credential broker sent an incomplete or unknown answer.',
    why: 'It was stopped while it answered, or the program and the units have different versions.',
    next: 'Copy the units of /usr/lib/berth/share/etc/systemd again and run `systemctl daemon-reload`. Look at `journalctl -u "berth-broker@*"`.',
  },
  'broker-busy': {
    what: 'The credential broker closed the connection.',
    why: 'The user has more connections to it at once than MaxConnections of the socket unit allows, often a script that starts many kubectl processes.',
    next: 'Try again with fewer kubectl processes at once.',
  },
  'broker-request-invalid': {
    what: 'The credential broker received a request that does not follow its protocol.',
    why: 'Another program than `kube-credential` connected to the socket, or the versions differ.',
    next: 'Compare the version of the program in the kubeconfig of the user with the installed one.',
  },
  'broker-no-request': {
    what: 'A program connected to the credential broker and sent no request.',
    why: 'The client was killed, or another program holds connections open.',
    next: 'A single log line needs no action. If there are many, look at the processes of that user.',
  },
  'broker-caller-unknown': {
    what: 'The credential broker does not know the UID of its client and gave no credential.',
    why: 'The units in /etc/systemd/system are of another version, or kubectl ran in a PID namespace of its own.',
    next: 'Copy /usr/lib/berth/share/etc/systemd/berth-broker* to /etc/systemd/system and run `systemctl daemon-reload`.',
  },
  'broker-socket-mismatch': {
    what: 'A user connected to the broker socket of another user, or to a wrong unit. No credential was given.',
    why: 'The units were changed, or somebody with root access tried it.',
    next: 'List the sockets: `systemctl list-units "berth-broker@*.socket"`.',
  },
  'broker-no-systemd': {
    what: 'Credentials cannot be renewed on this host, because systemd does not run here.',
    why: 'The portal runs in a container without systemd.',
    next: 'Run the hook on a host with systemd, or use a public client, which needs no broker.',
  },
  'broker-not-started': {
    what: 'The socket of the broker for this user could not be started. kubectl works until the current token expires.',
    why: 'The units are not installed.',
    next: 'Copy /usr/lib/berth/share/etc/systemd/berth-broker* to /etc/systemd/system, run `systemctl daemon-reload`, then `systemctl status berth-broker@UID.socket`.',
  },
  'kubeconfig-invalid': {
    what: 'A kubeconfig has a mistake. It was not changed.',
    why: 'It was edited by hand and has a YAML mistake, a duplicate name or key, or several documents, or it is not UTF-8. kubectl reads some of these without an error.',
    next: 'Correct the line in the message, or move the file away.',
  },
  'kubeconfig-too-large': {
    what: 'The kubeconfig of the user, or of a tenant of the management cluster, takes too long to read. It was not changed.',
    why: 'A tool adds entries at each run and never removes them, or the file has many YAML anchors, aliases or `? ` keys, which nobody needs there.',
    next: 'Have the user move old entries to another file and list that file in KUBECONFIG, and write out what `&anchor` and `*alias` share.',
  },
  'kubeconfig-not-editable': {
    what: 'The entries of Berth could not be written into the kubeconfig without changing other entries. It was not changed.',
    why: 'Entries share text by YAML anchors and aliases (`&x`, `*x`, `<<`).',
    next: 'Have the user expand the aliases once: `(umask 077; kubectl config view --raw > new && mv new ~/.kube/config)`.',
  },
  'kubeconfig-locked': {
    what: 'The kubeconfig of the user stayed locked until the time limit.',
    why: 'A kubectl process of the user is writing it, or one that was killed on another host left its lock file behind.',
    next: 'If no kubectl of the user runs on any host, remove the lock file that is named.',
  },
  'kubeconfig-lock-taken-over': {
    what: 'A lock file on the kubeconfig of the user was removed, because the process that created it is no longer running.',
    why: 'A hook or kubectl was killed while it wrote the file.',
    next: 'Nothing has to be done.',
  },
  'kubeconfig-read-only': {
    what: 'The user can read but not write their own kubeconfig, so it was not changed.',
    why: 'The file has mode 0400, or the home is mounted read-only on this host.',
    next: 'Have the user run `chmod u+w ~/.kube/config`. If the file is read-only on purpose, set `credentials.mode: none` for the cluster.',
  },
  'kubeconfig-unreadable': {
    what: 'The user cannot read their own kubeconfig.',
    why: 'It, or ~/.kube, belongs to root after a command with sudo, or its mode excludes the owner.',
    next: 'Run `namei -l /home/NAME/.kube/config`, then `chown -R NAME: /home/NAME/.kube`.',
  },
  'kubeconfig-not-own-file': {
    what: 'The kubeconfig belongs to another user and was not changed.',
    why: 'It was created by root with sudo, or it is a link to a shared file.',
    next: 'If it was created by mistake: `chown NAME: FILE`. If it is a link, have the user replace it with a file.',
  },
  'kubeconfig-not-a-file': {
    what: 'The kubeconfig is a directory or a device, not a regular file.',
    why: 'A container created ~/.kube/config as a directory, because it was a mount target.',
    next: 'Have the user move it away: `mv ~/.kube/config ~/.kube/config.old`.',
  },
  'kubeconfig-dangling-link': {
    what: 'The kubeconfig is a symbolic link whose target does not exist.',
    why: 'The target was removed or is on a file system that is not mounted on this host.',
    next: 'Have the user create the target or remove the link.',
  },
  'kubeconfig-outside-home': {
    what: 'The configured kubeconfig is outside the user’s home directory. It was not written.',
    why: 'v2.job.config_file in clusters.d names such a path, or a symbolic link in the path points outside the home directory.',
    next: 'Write it as $HOME/PATH. If the site keeps kubeconfigs elsewhere, set `credentials.mode: none` and write them with your own tool.',
  },
} as const satisfies CatalogueEntries;
