import type { CatalogueEntries } from './entry.ts';

/** Sessions in rootless containers of Podman. */
export const containerErrors = {
  'podman-missing': {
    what: 'podman cannot be run on this host.',
    why: 'It is not installed, or `podman.podman` of ssh.yml has another path.',
    next: 'Install podman, or correct the path. `berth doctor` checks all programs that sessions need.',
  },
  'program-missing': {
    what: 'A program that sessions need, named in the message, cannot be run on this host.',
    why: 'It is not installed, or its path in ssh.yml is wrong.',
    next: 'Install it, or correct its path in the section `podman` of ssh.yml.',
  },
  'oci-runtime-missing': {
    what: 'podman found no OCI runtime, so no session can be started on this host.',
    why: 'crun is not installed, or `podman.runtime` of ssh.yml has another path.',
    next: 'Install crun, or correct `podman.runtime`.',
  },
  'mount-program-missing': {
    what: 'podman found no mount program, so no session can be started on this host.',
    why: 'fuse-overlayfs is not installed, or `podman.mount_program` of ssh.yml has another path.',
    next: 'Install fuse-overlayfs, or correct `podman.mount_program`.',
  },
  'container-init-missing': {
    what: 'podman found no init program for containers, so no session can be started on this host.',
    why: 'catatonit is not installed, or `podman.init` of ssh.yml has another path.',
    next: 'Install catatonit, or correct `podman.init`.',
  },
  'container-disk-full': {
    what: 'The session could not be started: the storage of the user or the runtime directory is full.',
    why: 'The disk is full or the user is at a quota, often because of files written inside containers.',
    next: 'Check `df` and `df -i` of the storage (/var/lib/berth-ssh) and of /run. `berth reap` removes containers that have expired or ended.',
  },
  'image-missing': {
    what: 'The image of the session is not in the shared store of this host.',
    why: '`berth images pull` was not run after the profile was changed, or it failed; or the name in the profile is misspelled.',
    next: 'Run `berth images check`, which suggests a similar name, and `berth images pull`; without a registry `berth images pull --from-archive FILE`.',
  },
  'subordinate-ids-missing': {
    what: 'The account has no subordinate UIDs and GIDs. Rootless podman cannot start containers without them.',
    why: 'A new account, or an LDAP account: `useradd` gives ranges to local accounts only.',
    next: 'Run `berth subid plan NAME`, then `berth subid apply NAME`.',
  },
  'cgroup-not-delegated': {
    what: 'The limits of the profile (CPU, memory, processes) cannot be applied, so the session was not started.',
    why: 'systemd does not delegate these cgroup controllers to users, or the host uses cgroups v1.',
    next: 'Write `Delegate=cpu cpuset io memory pids` into /etc/systemd/system/user@.service.d/delegate.conf and run `systemctl daemon-reload`; or remove `limits` from the profile.',
  },
  'image-not-runnable': {
    what: 'podman could not run the image of the session.',
    why: 'The image is for another CPU architecture, or it lacks a shell or the loader of its programs.',
    next: 'Compare the architecture of the image with `uname -m`. `berth images check` compares the stored image with its digest.',
  },
  'container-start-deadline': {
    what: 'The container did not start within `deadline` of the profile.',
    why: 'A mount that does not answer, a full or slow disk, or many sessions that start at once.',
    next: 'Log in again. If it repeats: `berth doctor --user NAME`, and check the mounts of the profile with `df`.',
  },
  'container-not-started': {
    what: 'podman failed to start the container for a reason that Berth does not recognize.',
    why: 'Podman’s message says it: in the field `cause` of the log line, or in the result of `session-start` of `berth doctor`.',
    next: 'Read the end of podman’s message, and the other checks of `berth doctor --user NAME`. `berth plan --ssh --user NAME` prints the podman command line.',
  },
  'container-database-mismatch': {
    what: 'Podman refuses the storage of the user: its database was made for another runtime directory (`database configuration mismatch`).',
    why: 'The host got systemd-logind (or lost it) after the user’s first session, or the storage was moved. Logins and the reaper remove such a storage, and the next login creates it; this time that failed too.',
    next: 'Read podman’s message in `cause`, and run `berth reap`. Check the disk with `df -h` and `df -i`.',
  },
  'container-processes-killed': {
    what: 'Podman refuses the storage of the user: by its database a container runs, but none of its processes is there.',
    why: 'All processes of the user were killed, by an admin (`pkill -KILL -u NAME`) or for lack of memory. Logins and the reaper repair this with `podman system migrate`; this time that failed too.',
    next: 'Read podman’s message in `cause`, and run `berth reap`. Check the disk with `df -h` and `df -i`.',
  },
  'container-ended': {
    what: 'The container ended as soon as it was started.',
    why: 'The image cannot run on this host (CPU architecture, missing loader), or the kernel killed it for lack of memory.',
    next: 'As the user: `podman logs NAME`. As root: `dmesg | grep -i oom`.',
  },
  'test-session-failed': {
    what: '`berth doctor --start-session` could not run `true` in a test session of the account.',
    why: 'The faults that stop logins: podman cannot start the container, the image has no shell, or its programs cannot run on this host. The message contains the error of podman.',
    next: 'Fix the cause that the message names, and run `berth doctor --user NAME --start-session` again.',
  },
  'container-store-unreadable': {
    what: 'The list of containers in the storage of a user cannot be read.',
    why: 'The modes of the storage were changed, or the disk has errors.',
    next: 'Look at the named file: `namei -l FILE`, `dmesg`.',
  },
  'container-store-broken': {
    what: 'The list of containers in the storage of a user is damaged. Their processes are still ended; their files stay.',
    why: 'A power failure or a full disk while podman wrote it.',
    next: 'When the user has no session, remove the storage with the command in the hint. The next login creates it.',
  },
  'podman-failed': {
    what: 'A podman command failed. The message contains podman’s error.',
    why: 'During cleanup usually a full disk or quota, or damaged storage. For `berth images`: an error that Berth does not know.',
    next: 'After a failed cleanup, no immediate action is needed: `berth reap` tries again. Otherwise look up podman’s message.',
  },
  'podman-timeout': {
    what: 'A podman command that removes containers took too long and was stopped.',
    why: 'The storage of the user is on a slow or hung file system.',
    next: '`berth reap` tries again. Check `df` and `dmesg`.',
  },
} as const satisfies CatalogueEntries;
