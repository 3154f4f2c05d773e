import type { CatalogueEntries } from './entry.ts';

/** Errors that any program of Berth can have: arguments, files, locks, time limits. */
export const programErrors = {
  usage: {
    what: 'The program was called with arguments that it does not accept. Nothing was done.',
    why: 'An option is misspelled or missing, or two options exclude each other. For `login` and `pam-session`: the line in sshd_config or in /etc/pam.d/sshd has arguments that Berth does not support.',
    next: 'The message names the argument. `berth COMMAND --help` lists what a command accepts.',
  },
  'internal-error': {
    what: 'Berth stopped because of a defect in its own code.',
    why: 'A case that the program does not handle. The configuration of the site is not the cause, but it may trigger the defect.',
    next: 'Report the whole log line and the output of `berth --version`. Going back to the previous version of Berth is safe.',
  },
  'system-error': {
    what: 'A system call failed for a reason that has no code of its own. The message contains the system call, the file and the errno, such as EIO or ESTALE.',
    why: 'Usually a file system or disk with errors, a stale NFS mount, or a security module (SELinux, AppArmor) that denies access.',
    next: 'Look at the named file as root: `ls -l`, `namei -l`, `dmesg`, `ausearch -m avc -ts recent`. `berth doctor` checks the files and directories that Berth needs.',
  },
  'output-failed': {
    what: 'A command could not write its standard output. The output is incomplete.',
    why: 'The file system to which the output is redirected is full, or the quota of the user is used up.',
    next: 'Free space (`df`, `quota`) and run the command again.',
  },
  'deadline-exceeded': {
    what: 'The work did not finish within the time limit and was stopped. Work that was already finished is kept.',
    why: 'For the hook: a home directory or an API server does not answer within `deadline` of berth.yml. For `berth images`: a large image or a slow registry needs more time than `--timeout`. `berth token`, `ldap-sync` and `reap` have that option too.',
    next: 'Run `berth doctor --user NAME` to see what is slow. The next login tries again. For a command with `--timeout`, give more time with it.',
  },
  'not-root': {
    what: 'A command or a hook that needs root was not started as root.',
    why: '`berth` was run without sudo, or a hook was started by hand, or by something other than OnDemand or PAM.',
    next: 'Run the command as root. OnDemand and PAM run the hooks as root already.',
  },
  'write-not-permitted': {
    what: 'A file could not be written: permission denied (EACCES or EPERM).',
    why: 'The directory belongs to somebody else, has no write permission, or is on an NFS export with root_squash where root has no rights. An immutable file (`chattr +i`) gives the same error.',
    next: 'Run `namei -l FILE` as the user who writes it. For a file in a home directory that is the user, not root.',
  },
  'file-system-read-only': {
    what: 'A file could not be written: its file system is mounted read-only.',
    why: 'The mount has the option `ro`, or the kernel remounted the file system after a disk error.',
    next: 'Check `findmnt -T FILE` and `dmesg`, and mount it read-write.',
  },
  'disk-full': {
    what: 'A file could not be written: the file system has no free space or no free inodes. The old file is unchanged.',
    why: 'The disk is full, or many small files have used all inodes.',
    next: 'Check `df` and `df -i` for the named file, and free space. The next login tries again.',
  },
  'disk-quota-exceeded': {
    what: 'A file could not be written: the disk quota of the user is used up. The old file is unchanged.',
    why: 'The home directory of the user is at its quota for blocks or for files.',
    next: 'Have the user free space, or raise the quota (`quota -u NAME`). The next login tries again.',
  },
  'lock-timeout': {
    what: 'Another process held a lock for longer than the time limit.',
    why: 'Another login, `berth` command or `useradd` is doing the same work right now, or it hangs, often on a file system that does not respond.',
    next: 'Try again. If the error persists, look at the process that the message names: `ps -o pid,stat,wchan:30,args -p PID`.',
  },
  'lock-unreadable': {
    what: 'The lock file of /etc/subuid or /etc/subgid exists, but contains no process ID.',
    why: '`useradd`, `usermod` or a similar tool was killed while it created the lock, or another program wrote the file.',
    next: 'Check that none of these tools runs, then remove the lock file. Until you do, those tools cannot change accounts either.',
  },
  'directory-unsafe': {
    what: 'A directory in which root keeps secrets or state was refused, because another user could change what is in it.',
    why: 'The directory, or one above it, belongs to another user, is writable by others, or is a symbolic link.',
    next: 'Run `namei -l DIRECTORY`. Correct the owner and the mode of each part. If you do not know who changed it, look at its contents before you trust them.',
  },
  'user-file-unsafe': {
    what: 'Berth, running as root, refused to read a file in one of the user’s directories, because it is not a regular file that the user owns.',
    why: 'A symbolic link, a FIFO or a file of another user is in its place. This happens after an incomplete restore, and it can be an attack.',
    next: 'Run `namei -l FILE` and ask the user. When the user has no session, remove that file. Do not remove single files of podman’s storage.',
  },
  'user-file-too-large': {
    what: 'Root refused to read a file in a directory of the user, because it is much larger than Berth or podman ever writes.',
    why: 'The file is damaged, or the user filled it to slow down cleanup.',
    next: 'Look at the file (`ls -l`, `head -c 200`) and ask the user. When the user has no session, their whole storage directory can be removed; the next login creates it.',
  },
  'user-file-unreadable': {
    what: 'Root could not read a file in a directory of the user with the rights of that user.',
    why: 'The mode of the file or of a directory above it excludes its own owner, the file is a symbolic link, or the disk has errors.',
    next: 'Run `namei -l FILE` and correct the modes.',
  },
  'private-file-unsafe': {
    what: 'A file that only root or its user may read was not used, because others could have read or replaced it.',
    why: 'Its owner is not the expected user, its mode allows group or others, or it is not a regular file. A common cause is a restore from backup that did not preserve the modes.',
    next: 'Check it with `namei -l FILE`, then remove it: Berth writes it again at the next login. If others could read it, end the session of the user at the identity provider.',
  },
  'private-file-too-large': {
    what: 'A file that only root or its user may read was not used, because it is larger than any file that Berth writes there.',
    why: 'The file is damaged, or another program wrote it.',
    next: 'Remove it: Berth writes it again at the next login.',
  },
  'private-file-unreadable': {
    what: 'A file that only root or its user may read could not be read.',
    why: 'It is a symbolic link, a directory above it cannot be entered, or the disk has errors.',
    next: 'Check it with `namei -l FILE`, then remove it: Berth writes it again at the next login.',
  },
  'systemctl-failed': {
    what: 'systemctl failed: a property of a unit is not known, or a unit was not started or stopped.',
    why: 'systemd is not running (in a container), its D-Bus socket does not answer, or the unit itself failed.',
    next: 'Run the command in the hint as root. `systemctl status` must work.',
  },
  'systemd-missing': {
    what: 'This host does not run systemd, so Berth cannot stop and start the listeners of sessions.',
    why: 'Another init system runs, or this is a container.',
    next: "Stop the listener of sessions in the host's own way, or take the node out of service at the balancer.",
  },
  'secrets-not-protected': {
    what: '`berth render --show-secrets` did not print, because others could read the output.',
    why: 'Standard output is a terminal, or a file that is readable by group or others.',
    next: 'Redirect it into a file with mode 0600: `umask 077`, then run the command again.',
  },
  'init-cancelled': {
    what: '`berth init` was not allowed to make the changes that it showed. Nothing was written.',
    why: 'A question was answered with no, or left with Ctrl-C or Ctrl-D. Or an option asks for another value than a file has that somebody has edited, and nobody could be asked.',
    next: 'Run it again. `--dry-run` prints the changes and asks nothing; `--yes` makes them without a question.',
  },
  'init-step-failed': {
    what: 'A command that `berth init` ran failed. The steps before it are done, those after it are not.',
    why: 'What the command printed says so: a registry that does not answer, a finding of the linter, a port that is taken.',
    next: 'Correct it, then run the same `berth init` again. What is done is not done twice.',
  },
  'init-file-unsafe': {
    what: '`berth init` or `berth clusters discover` wanted to write a file, and found a symlink, a directory or a device in its place.',
    why: 'A configuration management tool keeps its files elsewhere and links to them.',
    next: 'Make the change where the file really is, or move the link away and run the command again.',
  },
  'init-file-changed': {
    what: 'A file changed between the moment when `berth init` showed its change and the moment when it wrote. The file was left as it is.',
    why: 'A configuration management tool or another admin wrote it while a question was open.',
    next: 'Run the same `berth init` again. The steps before it are done, and are not done twice.',
  },
  'init-running': {
    what: 'Another `berth init` makes its changes on this host. This one has changed nothing.',
    why: 'Two admins, or a script and an admin, set up the same host.',
    next: 'Wait until the other has ended, then run it again.',
  },
  'program-not-started': {
    what: 'The exec of another program (execve) failed, so Berth could not hand over to it.',
    why: 'It is not installed, is not executable, or is on a file system mounted `noexec`.',
    next: 'Run `ls -l` and `file` on the named program, and install it or correct its path in ssh.yml.',
  },
} as const satisfies CatalogueEntries;
