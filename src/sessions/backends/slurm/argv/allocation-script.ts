import type { Profile, SshSettings } from '../../../../config/schema/profile/profile.ts';
import { bashWord } from '../../../request/bash-words.ts';
import { sourceText } from '../../../../system/program/source-text.ts';
import { podmanDirectoryScript } from './podman-directory-script.ts';
import { sbatchOptions, sessionTimeLimit } from './sbatch-options.ts';
import { jobComment } from './slurm-job.ts';

/** The files of an allocation, in a directory of the user's home. */
export const allocationFiles = {
  /** The login's private key, with which it makes its words for the gate, too, and what the job's sshd accepts. */
  clientKey: 'client',
  clientPublicKey: 'client.pub',
  /** The key of the job's sshd, and the line by which the login knows it. */
  hostKey: 'host',
  hostPublicKey: 'host.pub',
  knownHosts: 'known_hosts',
  /** Written by the job: the port of its gate. */
  port: 'port',
  /** Written by the login that submits the job: its number, by which it is known. */
  job: 'job',
  /** Written by a login that cannot resolve the node's name: the address that Slurm has. */
  address: 'address',
  /** A directory with a file for each login that is in the queue or in the session. */
  logins: 'logins',
} as const;

/** Directory with a directory for each allocation. */
export function allocationsDir(home: string): string {
  return `${home}/.local/state/berth/allocations`;
}

/** What Slurm sets for a job, as `environment.pass` has it. Sessions get it. */
export const jobVariables = [
  'SLURM_*',
  'CUDA_VISIBLE_DEVICES',
  'ROCR_VISIBLE_DEVICES',
  'GPU_DEVICE_ORDINAL',
  'ZE_AFFINITY_MASK',
];

/** The file in the job's directory that has these variables, separated by NUL. */
export const environmentFile = 'environment';

/** Ports for the job's gate: below the ports that Linux gives to clients. If all are taken, the kernel chooses another. */
const ports = { first: 20_000, count: 10_000 };

/** How long the job waits for its first connection. Seconds. */
const firstSeconds = 60;

/** How long a login may take. Seconds. */
const loginSeconds = 15;

/** Path of the login program on the compute nodes: the package has the same paths there. */
export function loginOnNodes(toolsDir: string): string {
  return toolsDir.replace(/\/[^/]*$/, '/shell/login');
}

export interface Allocation {
  readonly name: string;
  /** 16 hexadecimal digits: the name of its directory. */
  readonly key: string;
  /** Path of the login program on the compute nodes. */
  readonly login: string;
  /** ID of the session that submits it; absent in a plan and at a console. */
  readonly session?: string | undefined;
}

/**
 * A job script that holds an allocation for sessions. Its gate (gate.py) starts an sshd as the user for each connection of a login: the user alone has
 * the keys, which it removes when it ends. It ends when no connection has been open for the profile's grace or, past its soft limit, as soon as no connection is open. All processes of sessions are in the job's cgroup.
 *
 * @param settings where podman and the shared images are on the compute nodes
 */
export function allocationScript(
  profile: Profile,
  settings: Pick<SshSettings, 'podman' | 'storage'>,
  { name, key, login, session }: Allocation,
): string {
  const batch = { ...profile.batch, timeMs: sessionTimeLimit(profile) };
  const options = sbatchOptions(
    { ...profile, batch },
    {
      'job-name': name,
      comment: jobComment(key, session),
      chdir: '/',
      output: '/dev/null',
      // A job that Slurm starts again has no connections to serve.
      'no-requeue': '',
    },
  );
  const { clientKey, clientPublicKey, hostKey, port, logins } = allocationFiles;
  const { softMs = Infinity } = profile.timeouts;
  const times = [
    firstSeconds,
    loginSeconds,
    profile.lifetime.kind === 'user' ? seconds(profile.lifetime.graceMs) : 0,
    softMs === Infinity ? 'inf' : seconds(softMs),
  ];
  return `#!/bin/bash
${options.map((option) => `#SBATCH ${option}\n`).join('')}# Holds an allocation for SSH sessions with the profile ${profile.name}. To end them: scancel this job.

set -euo pipefail
umask 077
dropped=($(compgen -e))
directory=$HOME${allocationsDir('')}/${key}
${podmanDirectoryScript(settings)}
env -0 | grep -z -E '^(${jobVariables.map((name) => name.replace(/\*$/, '.*')).join('|')})=' >"$state/${environmentFile}"
gate=
finish() {
  local connections=
  trap '' TERM
  # Connections first: what a login then gets is not the exit status of a command.
  if [ -n "$gate" ]; then
    read -r connections <"/proc/$gate/task/$gate/children" || true
    kill $connections "$gate" || true
  fi
  # The keys, before podman's directory, for which Slurm may not give the time, and which the epilog removes, too.
  rm -rf "$directory" || true
  remove_state
}
trap finish EXIT
trap 'exit 0' TERM

sshd=(/usr/sbin/sshd -f /dev/null -E "$state/sshd.log"
  -o "HostKey=$directory/${hostKey}" -o "AuthorizedKeysFile=$directory/${clientPublicKey}"
  ${sshdOptions(login).join('\n  ')}
  -o "SetEnv=BERTH_PROFILE=${profile.name} BERTH_JOB_DIRECTORY=$state")
# What is wrong with it ends the job, and not each login.
"\${sshd[@]}" -t
/usr/bin/python3 -I -S - "$directory/${clientKey}" "$directory/${port}" "$directory/${logins}" ${ports.first} ${ports.count} ${times.join(' ')} "\${sshd[@]}" -i <<'GATE' &
${sourceText('./gate.py', import.meta.url)}GATE
gate=$!
wait "$gate"
`;
}

function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1000);
}

/** sshd_config(5) of the job's sshd, which runs as the user and serves nobody else, as lines of options. */
function sshdOptions(login: string): string[] {
  const options = {
    AuthenticationMethods: 'publickey',
    PidFile: 'none',
    UsePAM: 'no',
    // The directory is the user's, with mode 0700; the home may be writable for a group.
    StrictModes: 'no',
    AcceptEnv: 'BERTH_ENV_*',
    X11Forwarding: 'yes',
    AllowTcpForwarding: 'no',
    PrintMotd: 'no',
    PrintLastLog: 'no',
    PermitUserRC: 'no',
    ForceCommand: login,
    LogLevel: 'ERROR',
    LoginGraceTime: String(loginSeconds),
    MaxSessions: '1',
    // A login node that is gone is noticed after a minute: sshd may ask at each second interval only.
    ClientAliveInterval: '15',
    ClientAliveCountMax: '2',
  };
  return Object.entries(options).map(([name, value]) => `-o ${bashWord(`${name}=${value}`)}`);
}
