import type { CatalogueEntries } from './entry.ts';

/** What containers and pods have in common: choice of a profile, PAM, runtime directory, mounts. */
export const sessionErrors = {
  'session-refused': {
    what: 'The user got no session on this host. The user sees only this; the log line has the reason.',
    why: 'No rule of ssh.yml is for this user (`profile-not-matched`).',
    next: 'Run `berth plan --ssh --user NAME` as root: it prints which rules were tried.',
  },
  'session-unknown': {
    what: 'No open session of this node has this ID or user, or no pod of a session has this name.',
    why: 'It has ended, it is on another node, or the ID was mistyped.',
    next: 'See `berth sessions list`, with `--all-nodes` for the pods of all login nodes.',
  },
  'session-not-ended': {
    what: 'sshd of a session did not end, although it was killed, or a pod still exists, although it was deleted.',
    why: 'The process hangs in the kernel, usually on a file system that does not respond. A node of the cluster does not answer, or a finalizer holds the pod.',
    next: 'Look at the process with `ps -o stat,wchan -p PID`, and at `dmesg`; `berth reap` cleans up when it has ended. For a pod, see `kubectl get nodes` and `kubectl get pod -o yaml`.',
  },
  'balancer-log-unsafe': {
    what: 'The file that `balancer_log` of ssh.yml names can be written by others than root, so its addresses are not shown.',
    why: 'syslog writes it as another user or with another mode, or it is a symbolic link or another special file.',
    next: 'Give it to root with mode 0640 (`FileOwner`, `FileCreateMode` of rsyslog), and remove the old file.',
  },
  'listeners-missing': {
    what: '`berth node drain` found no listener of sessions to stop: no unit of berth-sshd@.service runs or is enabled.',
    why: "The host's own sshd serves sessions. Berth does not stop that one: admins need it.",
    next: 'Take the node out of service at each balancer, for each kind, with the names of balancer.yml: `echo "set server SYSTEM.KIND/NODE state drain" | socat - /run/haproxy.sock`. Or give sessions an sshd of their own with `berth sshd new`.',
  },
  'listener-not-started': {
    what: 'systemd did not start a listener of sessions that `berth node undrain` wanted to start.',
    why: 'Its configuration is wrong, its port is taken, or a condition of the unit is not met.',
    next: 'See `systemctl status` of that unit, correct it, and run `berth node undrain` again: it continues.',
  },
  'drain-undone': {
    what: '`berth node drain` waited for sessions to end, and meanwhile somebody else undrained the node.',
    why: '`berth node undrain` was run, or /etc/berth/drain was removed.',
    next: 'Nothing was ended. Run `berth node drain` again if the node is still to be taken out of service.',
  },
  'runtime-directory-missing': {
    what: 'The user has no runtime directory (/run/user/UID or /run/berth/users/UID), so nothing can be started or cleaned up.',
    why: 'Neither pam_systemd nor `pam-session` of Berth ran when the connection opened: the lines in /etc/pam.d/sshd are missing or `UsePAM` is off.',
    next: 'Compare /etc/pam.d/sshd with /usr/lib/berth/share/etc/pam.d/berth-session, run `berth sshd lint`, and look at `journalctl -t berth` for this login.',
  },
  'runtime-directory-not-mounted': {
    what: 'Berth could not mount a runtime directory for the user below /run/berth/users.',
    why: 'sshd runs in a mount namespace of its own, or in a container without CAP_SYS_ADMIN.',
    next: 'Add `session optional pam_systemd.so` to /etc/pam.d/sshd, so that /run/user/UID exists; or run sshd in the mount namespace of the host.',
  },
  'runtime-directory-not-unmounted': {
    what: 'The runtime directory of a user who has no connection any more could not be unmounted.',
    why: 'A process of the user still has a file open there.',
    next: 'Nothing has to be done: `berth reap` tries again. To see what uses it: `fuser -vm /run/berth/users/UID`.',
  },
  'session-directory-missing': {
    what: 'The user has no storage directory for containers on this host.',
    why: '`pam-session open` did not run, or failed, when the connection opened.',
    next: 'Compare /etc/pam.d/sshd with /usr/lib/berth/share/etc/pam.d/berth-session. `berth doctor --user NAME` checks the directory; `berth subid apply --directories` creates it.',
  },
  'session-mount-missing': {
    what: 'The profile mounts a directory that does not exist on this host, so the session was not started.',
    why: 'The file system is not mounted on this host, or the home of the user was not created yet.',
    next: 'Mount it. If sessions should start without it, write `missing: skip` at that mount of the profile.',
  },
  'session-mount-forbidden': {
    what: 'The profile mounts a directory that would let a session change how podman works on the host.',
    why: 'The source, or what a symbolic link in it leads to, contains the storage or the runtime directory, or is inside of them.',
    next: 'Mount a smaller directory.',
  },
  'session-mount-changed': {
    what: 'A directory in the container is not the one that was checked before the start. The container was not used.',
    why: 'A symbolic link in the path of the mount source was changed during the start: an attempt to mount something else, or maintenance that happened at the same moment.',
    next: 'Log in again. If it happens again, check with `namei -l SOURCE` who can write to that path.',
  },
  'session-signalled': {
    what: 'The session was ended by a signal. How the command ended is not known.',
    why: 'The client closed the connection, an admin ended the session, or the host is shutting down.',
    next: 'A single log line needs no action; the user can log in again.',
  },
  'session-start-file-failed': {
    what: 'The file with the environment of the session could not be written to the runtime directory.',
    why: 'The file system of the runtime directory is full: users can fill their own.',
    next: 'Check `df -h` and `df -i` for /run/user/UID or /run/berth/users/UID, and let the user remove files there.',
  },
  'pam-session-deadline': {
    what: '`pam-session` was stopped because it took too long: more than 4 seconds (12 if profiles use pods) when a connection opened, or 45 when it closed. The login continued.',
    why: 'A file system, the directory service or an API server does not answer.',
    next: 'Look at the log lines before this one. `berth reap` cleans up the rest.',
  },
  'connection-closed': {
    what: 'A session was not started, because its SSH connection was closed before.',
    why: 'sshd started the login program late. It runs xauth first, which waits if `~/.Xauthority` is not a regular file.',
    next: 'Nothing, if the user has disconnected. Otherwise look in syslog for a sshd process that was killed.',
  },
  'pam-session-orphaned': {
    what: '`pam-session` did not record a connection, because no running sshd started it.',
    why: 'sshd was killed while the user logged in. Or something other than the PAM stack of sshd ran the hook.',
    next: 'Nothing is left of a login whose sshd was killed. Otherwise compare /etc/pam.d/sshd with /usr/lib/berth/share/etc/pam.d/berth-session.',
  },
  'processes-not-killed': {
    what: 'Processes of a connection that has ended are still there after SIGKILL.',
    why: 'They are in uninterruptible sleep (state D), usually on an NFS mount that does not answer.',
    next: 'Run `ps -u NAME -o pid,stat,wchan:30,args`. They end when the file system answers; `berth reap` tries again.',
  },
  'freezer-failed': {
    what: 'The processes of a user could not be frozen (SIGSTOP) while those of a closed connection were being killed.',
    why: 'Berth does this with a shell that runs as the user. The shell could not run, because the user has reached a limit on processes or memory.',
    next: '`berth reap` tries again. Check `ulimit -u` of the user and pids.max of the user’s cgroup.',
  },
  'sshd-missing': {
    what: '`berth sshd lint`, `berth sshd new` or `berth sshd check` cannot run sshd.',
    why: 'It is not installed, or is at another path than /usr/sbin/sshd.',
    next: 'Install the OpenSSH server, or name it with `--sshd`.',
  },
  'sshd-refused': {
    what: 'sshd does not accept its configuration, so it could not be checked.',
    why: 'A mistake in sshd_config or in a file that it includes, or a missing directory /run/sshd.',
    next: 'Run `sshd -t -f FILE`.',
  },
  'sshd-output': {
    what: '`sshd -T` printed no options, so the configuration could not be checked.',
    why: 'The version of OpenSSH is older than 7.4, or the program of `--sshd` is not sshd.',
    next: 'Check `sshd -V`.',
  },
  'sshd-kind-name-invalid': {
    what: 'A kind of session cannot have this name: it is the NAME of `berth-sshd@NAME` and of /etc/ssh/berth/NAME.conf.',
    why: 'It contains capital letters, blanks, `/` or `..`, or is longer than 40 characters.',
    next: 'Choose a name of lower-case letters, digits and hyphens.',
  },
  'sshd-kind-unknown': {
    what: '`berth sshd check` was asked for a kind of session that this host does not have.',
    why: 'There is no /etc/ssh/berth/NAME.conf.',
    next: 'Run `berth sshd list`.',
  },
  'sshd-kind-open': {
    what: '`berth sshd new` did not put the configuration in place, because the linter found doors: ways to run code on the host instead of in a session.',
    why: 'Most often `shell-reads-home`: with `--mode forced`, the shell of users in passwd reads files in their home before the forced command.',
    next: 'Correct what the message names; `--mode login-shell` closes `shell-reads-home`. If the host trusts these users, give `--accept CODE`: the file then says so, and `berth sshd check` does not report it again.',
  },
  'sshd-kind-edited': {
    what: '`berth sshd new` did not replace the configuration of a kind, because somebody has edited it.',
    why: 'The checksum in its first line is not that of the text below. A file of an earlier version of Berth has none.',
    next: '`--dry-run` prints the differences. Make the change in the file, or use `--overwrite`, which keeps the present file under another name.',
  },
  'port-taken': {
    what: 'The port of the new sshd is in use, or the configuration of another sshd names it.',
    why: 'The host’s own sshd or another kind of session listens there, or will when it starts.',
    next: 'Choose another port: `berth sshd list` prints those of all kinds, and `ss -ltnp` all that are in use.',
  },
  'host-key-missing': {
    what: 'There is no host key for the sshd that `berth sshd new` was to make, or no public half of a key that `berth sshd certify` was to sign.',
    why: 'The OpenSSH server was installed without its keys, as in an image of a virtual machine, or the public half was not copied to the host of the CA.',
    next: 'On the login node, run `ssh-keygen -A`, or name a key with `--host-key FILE`. For a CA elsewhere, copy the .pub file of the key there.',
  },
  'keygen-failed': {
    what: 'ssh-keygen could not read a key, or did not sign it. No certificate was changed.',
    why: 'The private key of the CA has a passphrase and there is no terminal, others can read it, or ssh-agent does not have it.',
    next: 'Give the key mode 0600. For a key in ssh-agent or on a token, name its public half with `--ca` and add `--agent`.',
  },
} as const satisfies CatalogueEntries;
