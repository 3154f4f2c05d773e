import type { SshSettings } from '../../../../config/schema/profile/profile.ts';
import { bashLines, bashVariable, bashWord } from '../../../request/bash-words.ts';
import { ownLocks, podmanOptions } from '../../podman/argv/podman-argv.ts';

const state = bashVariable('state');

/**
 * bash: makes `state`, the directory of podman for this job, with the functions `podman_of_job ARGUMENT…` and
 * `remove_state`. The array `dropped` has the variables that podman does not get.
 */
export function podmanDirectoryScript({
  podman,
  storage,
}: Pick<SshSettings, 'podman' | 'storage'>): string {
  const cgroupManager = 'cgroupfs';
  const ofJob = { storage, podman: { ...podman, cgroupManager }, runtimeDir: state } as const;
  return `# Podman's directory for this job. With all options here, podman reads no file of the home.
state=$(mktemp -d "\${TMPDIR:-/tmp}/berth-job-\${SLURM_JOB_ID:-none}-XXXXXX")
# The locks in /dev/shm are those of all podmans of the user on this node, and go with the last session there.
mkdir -p "$state/.config/containers"
printf %s ${bashWord(ownLocks)} >"$state/.config/containers/containers.conf"
podman_of_job() (
  export -n "\${dropped[@]}"
  export HOME="$state" XDG_RUNTIME_DIR="$state" PATH=/usr/sbin:/usr/bin:/sbin:/bin
  exec ${bashLines([podman.podman, ...podmanOptions(ofJob, state)], ' \\')} "$@"
)
remove_state() {
  local pause
  podman_of_job rm --all --force --time 0 >/dev/null || true
  # Podman's pause process: the one that this has joined or made.
  pause=$(podman_of_job unshare sh -c 'umount -l "$0/storage/overlay"
    cat "$0/libpod/tmp/pause.pid"
    rm -rf "$0"' "$state") || true
  [ -z "$pause" ] || kill -KILL "$pause" || true
  # Podman wrote there once more when it ended.
  rm -rf "$state"
}
`;
}
