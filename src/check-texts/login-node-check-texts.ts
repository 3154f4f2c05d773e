import type { CheckText } from './check-text.ts';

export const loginNodeCheckTexts = {
  'ssh-config': {
    what: 'Whether ssh.yml and the profiles can be read.',
    why: 'No session starts.',
    next: 'Correct the file and the line that the message names.',
  },
  'ssh-profile': {
    what: 'Profiles with mistakes, and keys of profiles that have no effect.',
    why: 'Users of such a profile are refused.',
    next: 'Correct the profile that the message names.',
  },
  'ssh-rules': {
    what: 'Whether ssh.yml has rules, and the users and groups that they name exist.',
    why: 'Users get no session, or another profile than intended.',
    next: 'Correct `rules` of ssh.yml.',
  },
  'ssh-pods': {
    what: 'Whether the cluster of a profile with pods is configured.',
    why: 'No session in a pod starts.',
    next: 'Set `ssh_sessions` for the cluster in berth.yml, and its name in the profile.',
  },
  'ssh-pod-admission': {
    what: 'Whether the admission policies of the cluster accept the pod of each profile, by a dry run.',
    why: 'No session with the profile starts.',
    next: 'Correct the profile, or allow what it asks for in admission.yml (`host_paths` for mounts) and apply `berth render policies` again.',
  },
  'ssh-slurm': {
    what: 'Whether the programs for sessions in jobs of Slurm are installed.',
    why: 'No session in a job starts.',
    next: 'Install what the message names.',
  },
  'ssh-slurm-job': {
    what: 'Whether Slurm accepts the job of each profile (`sbatch --test-only`), with `--user`.',
    why: "The user's sessions with this profile do not start.",
    next: 'Correct `batch` of the profile, or the account of the user in Slurm.',
  },
  'ssh-mounts': {
    what: 'Whether the directories that profiles mount exist.',
    why: 'Sessions start without them, or not at all.',
    next: 'Create or mount them, or correct the profile.',
  },
  sshd: {
    what: 'Whether the sshds that run start a Berth session for every user; in `berth status`, whether those of sessions run.',
    why: 'Users get a shell or files of this host, or no session.',
    next: 'Run `berth sshd lint`, which names each line and how to correct it, or `berth sshd check`.',
  },
  'pam-session': {
    what: 'Whether PAM runs the program that opens and closes sessions.',
    why: 'Nothing is cleaned up, and limits of users are not set.',
    next: 'Add the line that the message names to /etc/pam.d/sshd.',
  },
  'user-manager': {
    what: "Whether users' systemd managers (`user@UID.service`) are kept from units in homes.",
    why: 'A session can start programs on this host.',
    next: "Install the drop-in that the message names and run `systemctl daemon-reload`. Then restart the named managers; this ends these users' containers.",
  },
  fuse: {
    what: 'Whether users can let root into their FUSE file systems (`user_allow_other`).',
    why: 'Programs of root can wait for ever for the file system of a user who can run programs on this host.',
    next: 'Remove the line `user_allow_other` from /etc/fuse.conf.',
  },
  podman: {
    what: 'Whether podman is installed, and new enough.',
    why: 'No session in a container starts.',
    next: 'Install a newer podman, or correct the section `podman` of ssh.yml.',
  },
  'podman-runtime': {
    what: 'Whether the container runtime and helper programs exist, and only root may change them.',
    why: 'No session in a container starts, or it runs a program of somebody else.',
    next: 'Install them, or correct the section `podman` of ssh.yml.',
  },
  newuidmap: {
    what: 'Whether newuidmap and newgidmap are installed with their capabilities.',
    why: 'Containers of users cannot map their IDs.',
    next: 'Install the package uidmap or shadow-utils again.',
  },
  'subid-files': {
    what: 'Whether /etc/subuid and /etc/subgid are valid, no two users share a range, and none contains an ID of a person.',
    why: 'A user could read the files of containers of another.',
    next: 'Run `berth subid plan`, and correct what it names.',
  },
  cgroups: {
    what: 'The version of cgroups, and whether it fits `podman.cgroup_manager`.',
    why: 'Limits of profiles have no effect.',
    next: 'Have cgroups v2 alone at /sys/fs/cgroup, as the message says, or correct `podman.cgroup_manager` of ssh.yml.',
  },
  'cgroup-delegation': {
    what: "Whether users' systemd managers have the cgroup controllers that limits need.",
    why: 'No session with a profile that has limits starts.',
    next: 'Install the drop-in that the message names, and log in again; without systemd, remove `limits` from the profile.',
  },
  terminals: {
    what: 'How many of the pseudo-terminals that the kernel has for containers are in use.',
    why: 'Sessions in containers get no terminal any more.',
    next: 'End the sessions of the user who has taken them, or raise kernel.pty.max.',
  },
  devices: {
    what: 'Whether users can open the devices that rootless podman needs.',
    why: 'No session in a container starts.',
    next: 'Load the kernel module, or correct the mode of the device.',
  },
  'podman-network': {
    what: 'Whether the podman networks that profiles name exist, with `--user` those of the user.',
    why: 'No session with the profile starts.',
    next: 'Correct `network` of the profile.',
  },
  'transfer-files': {
    what: 'Whether the tools for images without sftp-server or scp are installed.',
    why: 'sftp and scp fail in such images.',
    next: 'Run `berth images files`.',
  },
  storage: {
    what: 'Whether the storage directory belongs to root, with everything above it.',
    why: 'Who can write to it can replace the images of all users.',
    next: 'Check its contents, then `chown root` it, and correct what the message names.',
  },
  'storage-file-system': {
    what: 'The file system of the storage directory.',
    why: 'Containers fail or are slow: the file system is not local, is a tmpfs, or is almost full.',
    next: 'Free space with `berth images gc`, or set `storage` in ssh.yml to a directory on a local disk.',
  },
  image: {
    what: 'Whether each image of the profiles is in the store, is complete and readable, and has the wanted digest.',
    why: 'Sessions of its profiles do not start.',
    next: 'Run `berth images pull`.',
  },
  'image-profile': {
    what: 'Profiles with mistakes, whose images are not known.',
    why: 'Their images are neither pulled nor checked.',
    next: 'Correct the profile that the message names.',
  },
  'user-access': {
    what: 'Whether an sshd of `berth-sshd@.service` admits the user.',
    why: 'The user cannot log in.',
    next: 'Run `berth init login-node --user NAME`. A member of the group that AllowGroups names must have Berth as login shell.',
  },
  'user-profile': {
    what: 'Which profile the user gets.',
    why: 'The user is refused.',
    next: 'Add a rule to ssh.yml.',
  },
  'user-subids': {
    what: 'Whether the user has subordinate IDs.',
    why: 'No session of the user in a container starts.',
    next: 'Run `berth subid apply NAME`.',
  },
  'user-runtime-directory': {
    what: 'Whether the user has a runtime directory, and lingers if the profile needs it.',
    why: 'Containers end with the last connection, or do not start.',
    next: 'Run `loginctl enable-linger NAME`, or see the message.',
  },
  'user-storage': {
    what: 'Whether the storage directory of the user exists and belongs to the user.',
    why: 'If it belongs to somebody else, no session of the user starts. If it is missing, the next login creates it.',
    next: 'Run `berth subid apply --directories NAME`.',
  },
  'session-start': {
    what: 'Starts a test session of the user with `--start-session`, and removes it.',
    why: 'A login would fail in the same way.',
    next: 'Correct what the message names; `berth explain` knows its code.',
  },
} satisfies Readonly<Record<string, CheckText>>;
