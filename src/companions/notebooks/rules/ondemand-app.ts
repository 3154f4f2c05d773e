import {
  sessionTimeLimit,
  sbatchOptions,
} from '../../../sessions/backends/slurm/argv/sbatch-options.ts';
import { profilePod, type ProfilePod } from '../../../sessions/backends/pod/objects/profile-pod.ts';
import type { Profile, SshSettings } from '../../../config/schema/profile/profile.ts';
import { profileEnvironment } from '../../../sessions/request/session-environment.ts';
import { sourceText } from '../../../system/program/source-text.ts';
import { accountLine, erbFill, erbText, erbYaml, RubyValue } from './erb-yaml.ts';
import { idleArgs } from './hub-profile.ts';
import { containerFunction } from './sbatch.ts';
import { refuseTimeLimits } from './refuse-time-limits.ts';
import { bashWord } from '../../../sessions/request/bash-words.ts';

/** What an app starts in the image of the profile. */
export const appKinds = ['jupyter', 'rstudio', 'web'] as const;
type AppKind = (typeof appKinds)[number];

export interface OndemandApp {
  readonly profile: Profile;
  readonly kind: AppKind;
  /** For `web`: the command of the server, for `/bin/sh -c`. */
  readonly command?: string | undefined;
  /** OnDemand's name of the cluster. */
  readonly cluster: string;
  /** Where podman and the shared images are on the compute nodes, for an app that runs in jobs of Slurm. */
  readonly slurm?: Pick<SshSettings, 'podman' | 'storage'> | undefined;
}

export interface AppFile {
  readonly path: string;
  readonly text: string;
}

interface Server {
  readonly title: string;
  readonly icon: string;
  /** Which of the portal's two proxies: `rnode` removes its own path from the requests. */
  readonly proxy: 'node' | 'rnode';
  readonly argv: readonly string[];
  /** Files in /ood. */
  readonly files: Readonly<Record<string, string>>;
  readonly view: string;
}

/** An interactive app of Open OnDemand, as files of its directory. @throws {BerthError} `time-limit-unsupported` */
export function ondemandApp(app: OndemandApp): AppFile[] {
  const { profile, cluster, slurm } = app;
  const isJupyter = app.kind === 'jupyter';
  refuseTimeLimits(
    profile,
    `the app ${app.kind}`,
    isJupyter ? 'ends when idle' : 'stays when idle',
  );
  const server = serverOf(app);
  const hours = longestHours(profile, slurm !== undefined);
  const manifest = {
    name: `${server.title} (${profile.name})`,
    category: 'Interactive Apps',
    subcategory: 'Servers',
    icon: server.icon,
    role: 'batch_connect',
    description: `${server.title} in the image ${profile.image}, with your files and groups as in SSH sessions.`,
  };
  const hoursField = {
    label: 'Number of hours',
    help: `The session ends then. At most ${hours}.`,
    value: 1,
    min: 1,
    max: hours,
  };
  const form = {
    cluster,
    attributes: hours === undefined ? {} : { bc_num_hours: hoursField },
    form: hours === undefined ? [] : ['bc_num_hours'],
  };
  return [
    { path: 'manifest.yml', text: `---\n${erbYaml(manifest)}` },
    { path: 'form.yml', text: `---\n${erbYaml(form)}` },
    { path: 'view.html.erb', text: server.view },
    ...(slurm === undefined ? podFiles(app, server, hours) : jobFiles(app, server, hours, slurm)),
  ];
}

/** Keys of the profile that OnDemand's Kubernetes adapter cannot express (ood_core, pod.yml.erb). */
export function keysWithoutEffect({ hostname, mounts, pod }: Profile): string[] {
  const volumes = Object.entries(pod.volumes);
  return [
    ...(hostname === undefined ? [] : ['hostname']),
    ...mounts.flatMap(({ readOnly }, index) =>
      readOnly ? [`mounts.${index + 1} (read-only)`] : [],
    ),
    ...volumes.flatMap(([path, volume]) =>
      'claim' in volume || volume.readOnly ? [`pod.volumes.${path}`] : [],
    ),
    ...(pod.tolerations.length === 0 ? [] : ['pod.tolerations']),
    ...(pod.priorityClass === undefined ? [] : ['pod.priority_class']),
    ...(pod.runtimeClass === undefined ? [] : ['pod.runtime_class']),
    ...Object.keys(pod.extended)
      .slice(1)
      .map((name) => `pod.extended.${name}`),
  ];
}

/** A form can be posted by hand, so its bounds hold here, too. */
function wallTime(
  hours: number | undefined,
  seconds: number | undefined,
): RubyValue | number | undefined {
  return hours === undefined
    ? seconds
    : new RubyValue(`bc_num_hours.to_i.clamp(1, ${hours}) * 3600`);
}

function podFiles(app: OndemandApp, server: Server, hours: number | undefined): AppFile[] {
  const { profile, kind } = app;
  const pod = profilePod(profile, erbFill);
  const [gpu, gpus] = Object.entries(profile.pod.extended)[0] ?? [];
  const [pullSecret] = pod.spec.imagePullSecrets ?? [];
  const files = { 'start.py': sourceText('./ondemand/start.py', import.meta.url), ...server.files };
  const native = {
    container: {
      name: kind,
      image: pod.image,
      image_pull_policy: pod.imagePullPolicy,
      image_pull_secret: pullSecret?.name,
      command: ['python3', '/ood/start.py', ...server.argv].map(inQuotes),
      port: 8080,
      working_dir: homeIsMounted(profile) ? erbFill('$HOME') : undefined,
      startup_probe: { initial_delay_seconds: 2, period_seconds: 2, failure_threshold: 90 },
      labels: { 'berth.dev/profile': profile.name },
      env: {
        ...profileEnvironment({ ...profile, slurm: undefined }, (one) => erbFill(inQuotes(one))),
        BERTH_PROXY: server.proxy,
      },
      ...resourcesOf(pod),
    },
    configmap: {
      files: [
        ...Object.entries(files).map(([filename, data]) => ({
          filename,
          data,
          mount_path: `/ood/${filename}`,
          sub_path: filename,
        })),
        // Else a shell calls the user "I have no name!".
        {
          filename: 'passwd',
          data: passwd(profile),
          mount_path: '/etc/passwd',
          sub_path: 'passwd',
        },
      ],
    },
    mounts: adapterMounts(pod),
    node_selector: pod.spec.nodeSelector,
    gpu_type: gpu,
  };
  const script = {
    wall_time: wallTime(hours, podSeconds(profile)),
    gpus_per_node: gpus,
    native,
  };
  return [
    { path: 'submit.yml.erb', text: submitFile({ script }) },
    {
      path: 'template/README',
      text: 'OnDemand needs this directory. Its files are not used by pods.\n',
    },
  ];
}

function jobFiles(
  { profile }: OndemandApp,
  server: Server,
  hours: number | undefined,
  settings: Pick<SshSettings, 'podman' | 'storage'>,
): AppFile[] {
  const native = sbatchOptions(profile).filter((option) => !/^--(job-name|time)=/.test(option));
  const script = { wall_time: wallTime(hours, jobSeconds(profile)), native };
  const passed = ['BERTH_PORT', 'BERTH_BASE_URL', 'BERTH_PASSWORD_HASH', 'BERTH_PASSWORD_FILE'];
  const before = `BERTH_PROXY=${server.proxy}\n${sourceText('./ondemand/before.sh', import.meta.url)}`;
  const run = `#!/bin/bash
${containerFunction(profile, settings, passed)}
container+=(--mount "type=bind,source=$PWD,target=/ood,readonly")
workdir=${homeIsMounted(profile) ? '$HOME' : '/'}
in_container ${server.argv.map(bashWord).join(' ')}
`;
  const template = {
    'before.sh.erb': erbText(before),
    'script.sh.erb': erbText(run),
    'after.sh.erb': erbText(sourceText('./ondemand/after.sh', import.meta.url)),
    ...server.files,
  };
  return [
    {
      path: 'submit.yml.erb',
      text: submitFile({ run_script: 'bash ./script.sh', script }),
    },
    ...Object.entries(template).map(([name, text]) => ({ path: `template/${name}`, text })),
  ];
}

function submitFile({ run_script, script }: { run_script?: string; script: object }): string {
  const head = `<%-\n  require 'etc'\n  require 'json'\n  ${accountLine}\n-%>\n---\n`;
  return `${head}${erbYaml({ batch_connect: { template: 'basic', run_script }, script })}`;
}

/** The adapter writes it between double quotes of YAML, as it is. */
function inQuotes(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function passwd({ shell = '/bin/sh' }: Profile): string {
  return `root:x:0:0:root:/root:/bin/sh\n${erbFill(`$USER:x:$UID:$GID::$HOME:${shell}`)}\n`;
}

function resourcesOf({ resources: { limits, requests } }: ProfilePod): object {
  return {
    cpu_limit: limits.cpu,
    cpu_request: requests.cpu,
    memory_limit: limits.memory,
    memory_request: requests.memory,
  };
}

/** As the adapter's `mounts`, which are writable directories of the node and NFS exports. */
function adapterMounts({ mounts }: ProfilePod): object[] {
  return mounts.flatMap(({ name, target, readOnly, source }): object[] => {
    const { hostPath, nfs } = source as Partial<Record<string, Record<string, string>>>;
    const common = { name: `berth-${name}`, destination_path: target };
    if (readOnly) return [];
    if (hostPath !== undefined)
      return [{ type: 'host', ...common, host_type: hostPath.type, path: hostPath.path }];
    return nfs === undefined ? [] : [{ type: 'nfs', ...common, host: nfs.server, path: nfs.path }];
  });
}

function homeIsMounted({ mounts }: Profile): boolean {
  return mounts.some(({ source, target = source }) => /^\$(HOME|\{HOME\})$/.test(target));
}

/** For a pod whose profile has no time limit. */
const usualHours = 12;

/** What a user may choose at most; undefined if there is nothing to choose. */
function longestHours(profile: Profile, inJob: boolean): number | undefined {
  const seconds = inJob ? jobSeconds(profile) : podSeconds(profile);
  return seconds === undefined || seconds < 2 * 3600 ? undefined : Math.floor(seconds / 3600);
}

function jobSeconds(profile: Profile): number | undefined {
  const ms = sessionTimeLimit(profile);
  return ms === undefined ? undefined : Math.ceil(ms / 1000);
}

function podSeconds({ timeouts: { hardMs } }: Profile): number {
  return hardMs === undefined ? usualHours * 3600 : Math.ceil(hardMs / 1000);
}

function serverOf({ kind, command = '', profile }: OndemandApp): Server {
  const { idleMs } = profile.timeouts;
  const passwordView = sourceText('./ondemand/web-view.html.erb', import.meta.url);
  switch (kind) {
    case 'jupyter':
      return {
        title: 'Jupyter',
        icon: 'fa://book',
        proxy: 'node',
        argv: [
          'jupyter',
          'lab',
          '--config=/ood/jupyter_server_config.py',
          ...(idleMs === undefined ? [] : idleArgs(idleMs)),
        ],
        files: {
          'jupyter_server_config.py': sourceText(
            './ondemand/jupyter_server_config.py',
            import.meta.url,
          ),
        },
        view: sourceText('./ondemand/jupyter-view.html.erb', import.meta.url),
      };
    case 'rstudio':
      return {
        title: 'RStudio',
        icon: 'fa://chart-bar',
        proxy: 'rnode',
        argv: ['sh', '/ood/rstudio.sh'],
        files: { 'rstudio.sh': sourceText('./ondemand/rstudio.sh', import.meta.url) },
        view: passwordView,
      };
    case 'web':
      return {
        title: 'Web server',
        icon: 'fa://globe',
        proxy: 'rnode',
        argv: ['sh', '-c', command],
        files: {},
        view: passwordView,
      };
  }
}
