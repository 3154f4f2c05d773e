import * as z from 'zod/mini';
import { matching, optionalKeys, passing, wholeNumber } from '../schema-parts.ts';
import { durationBetween } from '../duration-schema.ts';
import { nearestKey } from '../nearest-key.ts';
import { batchSchema } from './batch-fields.ts';
import { imageProblem } from './image-reference.ts';
import { mountProblem, pathProblem, withoutTrailingSlash } from './mount-path.ts';
import { cpus, size } from './quantities.ts';
import { podSchema } from './pod-fields.ts';
import { backends } from './profile.ts';
import { templateProblem } from './template.ts';

/** A string that the function finds no problem in. */
function textWithout(problem: (text: string) => string | undefined): z.ZodMiniType<string, string> {
  return z.string().check((context) => {
    const message = problem(context.value);
    if (message !== undefined) {
      context.issues.push({ code: 'custom', message, input: context.value });
    }
  });
}

/** An absolute path without `..` and without characters that podman's options interpret. */
export const directoryPath = z.pipe(
  textWithout((text) => (text === '/' ? 'must not be /' : pathProblem(text))),
  z.transform(withoutTrailingSlash),
);

/** Like `directory`; it may begin with `$HOME` and contain the other variables. */
function pathTemplateProblem(text: string): string | undefined {
  const problem = templateProblem(text);
  if (problem !== undefined) return problem;
  return pathProblem(text.replace(/^\$(?:HOME|\{HOME\})(?=\/|$)/, '/HOME'));
}
const source = z.pipe(
  textWithout((text) => {
    if (text === '/') return mountProblem(text);
    const problem = pathTemplateProblem(text);
    return problem === undefined && text.startsWith('/') ? mountProblem(text) : problem;
  }),
  z.transform(withoutTrailingSlash),
);
const target = z.pipe(
  textWithout((text) => (text === '/' ? 'must not be /' : pathTemplateProblem(text))),
  z.transform(withoutTrailingSlash),
);

const template = textWithout((text) =>
  text.includes('\0') ? 'must not contain NUL' : templateProblem(text),
);
const hostname = textWithout((text) => {
  const problem = templateProblem(text);
  if (problem !== undefined) return problem;
  return /^(?:[A-Za-z0-9.-]|\$[A-Z]+|\$\{[A-Z]+\})+$/.test(text)
    ? undefined
    : 'must be a host name of letters, digits, `-` and `.`';
});

/** Name of a group or an account in NSS. Active Directory allows blanks. */
export const accountName = matching(
  /^[^\s:,\p{Cc}-][^:,\p{Cc}]*$/u,
  'must be a name as id(1) prints it',
);
/** A list that is not empty: an empty one would mean nobody, and is more likely a mistake. */
export function nonEmptyArray<T extends z.core.$ZodType>(element: T): z.ZodMiniArray<T> {
  return z.array(element).check(z.minLength(1, 'must not be empty: remove it, or add a name'));
}

const image = textWithout(imageProblem);
const variable = '[A-Za-z_][A-Za-z0-9_]*';
const passed = matching(
  new RegExp(`^${variable}\\*?$`),
  'must be a variable name, or a prefix with `*`',
);

const device = passing((text) => {
  if (text.startsWith('/dev/')) return pathProblem(text) === undefined;
  return /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*=[\w.:-]+$/.test(text);
}, 'must be a path below /dev, or a CDI name such as nvidia.com/gpu=all');
const capability = z.pipe(
  textWithout((text) => {
    const name = bareCapability(text);
    if (capabilityNames.includes(name)) return undefined;
    const near = nearestKey(name, capabilityNames);
    return `is not a capability${near === undefined ? ': see capabilities(7)' : `: did you mean ${near}?`}`;
  }),
  z.transform(bareCapability),
);
function bareCapability(text: string): string {
  return text.toUpperCase().replace(/^CAP_/, '');
}
const selinux = matching(
  /^(?:disable|nested|(?:user|role|type|level|filetype):[A-Za-z0-9_.:,-]+)$/,
  'must be disable, or a label such as type:container_t',
);

const timeLimit = durationBetween('1s', '8760h');

/** A profile as written; `Profile` documents the keys. */
export const profileSchema = z.strictObject({
  backend: z.optional(z.enum(backends)),
  image,
  pull: z.optional(z.enum(['never', 'missing', 'always'])),
  lifetime: z.optional(
    z.union([z.literal('connection'), z.literal('user'), durationBetween('1ms', '8760h')], {
      error: 'must be connection, user, or a time such as 8h, 8760h at most',
    }),
  ),
  grace: z.optional(durationBetween('0s', '720h')),
  linger: z.optional(z.boolean()),
  timeouts: z.optional(
    optionalKeys({
      idle: timeLimit,
      soft: timeLimit,
      hard: timeLimit,
      warn: z.array(timeLimit),
    }),
  ),
  mounts: z.optional(
    z.array(
      z.strictObject({
        source,
        target: z.optional(target),
        read_only: z.optional(z.boolean()),
        missing: z.optional(z.enum(['fail', 'skip'])),
      }),
    ),
  ),
  network: z.optional(
    matching(
      /^[A-Za-z0-9][\w.-]*$/,
      'must be host, none, private, or the name of a podman network',
    ),
  ),
  hostname: z.optional(hostname),
  environment: z.optional(
    optionalKeys({
      pass: z.array(passed),
      set: z.record(z.string(), template),
    }),
  ),
  shell: z.optional(directoryPath),
  limits: z.optional(
    optionalKeys({
      cpus,
      memory: size,
      pids: wholeNumber(1, 4_194_304),
    }),
  ),
  x11: z.optional(z.boolean()),
  agent: z.optional(z.boolean()),
  notices: z.optional(z.boolean()),
  self_service: z.optional(z.boolean()),
  slurm: z.optional(optionalKeys({ config: directoryPath, munge: directoryPath })),
  groups: z.optional(nonEmptyArray(accountName)),
  on_failure: z.optional(
    z.strictObject({
      action: z.enum(['refuse', 'fallback', 'host-shell']),
      image: z.optional(image),
      groups: z.optional(nonEmptyArray(accountName)),
    }),
  ),
  deadline: z.optional(durationBetween('100ms', '1h')),
  podman: z.optional(
    optionalKeys({
      devices: z.array(device),
      capabilities: optionalKeys({
        add: z.array(capability),
        drop: z.array(capability),
      }),
      selinux,
    }),
  ),
  pod: z.optional(podSchema),
  batch: z.optional(batchSchema),
});

export type ProfileDocument = z.output<typeof profileSchema>;

/** Names of capabilities(7) in Linux 6.12, without `CAP_`; `ALL` is podman's name for all of them. */
const capabilityNames: readonly string[] = [
  'ALL',
  'AUDIT_CONTROL',
  'AUDIT_READ',
  'AUDIT_WRITE',
  'BLOCK_SUSPEND',
  'BPF',
  'CHECKPOINT_RESTORE',
  'CHOWN',
  'DAC_OVERRIDE',
  'DAC_READ_SEARCH',
  'FOWNER',
  'FSETID',
  'IPC_LOCK',
  'IPC_OWNER',
  'KILL',
  'LEASE',
  'LINUX_IMMUTABLE',
  'MAC_ADMIN',
  'MAC_OVERRIDE',
  'MKNOD',
  'NET_ADMIN',
  'NET_BIND_SERVICE',
  'NET_BROADCAST',
  'NET_RAW',
  'PERFMON',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYSLOG',
  'SYS_ADMIN',
  'SYS_BOOT',
  'SYS_CHROOT',
  'SYS_MODULE',
  'SYS_NICE',
  'SYS_PACCT',
  'SYS_PTRACE',
  'SYS_RAWIO',
  'SYS_RESOURCE',
  'SYS_TIME',
  'SYS_TTY_CONFIG',
  'WAKE_ALARM',
];

/** Checks the name of a profile, which is part of the names of its containers and pods, and a label of them. */
export function isProfileName(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name);
}
