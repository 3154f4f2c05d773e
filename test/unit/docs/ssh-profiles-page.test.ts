import type * as z from 'zod/mini';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { parseProfile } from '../../../src/config/schema/profile/profile-parse.ts';
import { profileSchema } from '../../../src/config/schema/profile/profile-schema.ts';
import { parseSshSettings, sshSchema } from '../../../src/config/schema/ssh-settings.ts';
import { codeBlocks, pages, tableRows } from '../../rig/markdown-pages.ts';

const page = 'docs/ssh-profiles.md';
const rows = tableRows(page, 'key');
const described = rows.map(([key = '']) => key);
const builtInOf = (key: string): string => rows.find(([name]) => name === key)?.[1] ?? 'not there';

describe('docs/ssh-profiles.md', () => {
  it('describes exactly the keys of ssh.yml and of a profile', () => {
    const keys = [...keysOf(sshSchema), ...keysOf(profileSchema)];
    // Both the mapping and what is in it mean something.
    const whole = described.filter((key) => ['mounts', 'slurm'].includes(key));
    expect(whole).toHaveLength(2);
    expect(described.filter((key) => !whole.includes(key)).sort()).toEqual(keys.sort());
  });

  it('has the real defaults', () => {
    const { podman, ...ssh } = parseSshSettings({}, page);
    expect({
      otherwise: builtInOf('otherwise'),
      storage: builtInOf('storage'),
      profilesDir: builtInOf('profiles_dir'),
    }).toEqual({
      otherwise: ssh.otherwise,
      storage: ssh.storage,
      profilesDir: ssh.profilesDir,
    });
    expect({
      podman: builtInOf('podman.podman'),
      runtime: builtInOf('podman.runtime'),
      nsenter: builtInOf('podman.nsenter'),
      init: builtInOf('podman.init'),
      cgroupManager: builtInOf('podman.cgroup_manager'),
      mountProgram: builtInOf('podman.mount_program'),
    }).toEqual(podman);

    const written = ['pull', 'lifetime', 'network', 'deadline', 'agent', 'notices', 'linger'].map(
      (key) => [key, parse(builtInOf(key)) as unknown],
    );
    const spelt = {
      ...(Object.fromEntries(written) as object),
      mounts: [
        {
          source: builtInOf('mounts'),
          read_only: parse(builtInOf('mounts.read_only')) as unknown,
          missing: builtInOf('mounts.missing'),
        },
      ],
      on_failure: { action: builtInOf('on_failure.action') },
    };
    expect(read(spelt)).toEqual(read({}));
    const slurm = { config: builtInOf('slurm.config'), munge: builtInOf('slurm.munge') };
    expect(read({ slurm })).toEqual(read({ slurm: {} }));
    const user = { lifetime: 'user' };
    expect(read({ ...user, grace: builtInOf('grace') })).toEqual(read(user));
  });
});

describe.each(pages)('in %s', (name) => {
  const yaml = (path: string) => codeBlocks(name).filter(({ text }) => text.startsWith(path));

  it('each ssh.yml and each profile is valid', () => {
    for (const { text } of yaml('# /etc/berth/ssh.yml')) {
      expect(() => parseSshSettings(parse(text), name)).not.toThrow();
    }
    for (const { text } of yaml('# /etc/berth/profiles/')) {
      expect(() => parseProfile(parse(text), 'example', name)).not.toThrow();
    }
  });
});

function read(document: object): unknown {
  return parseProfile({ image: 'a', ...document }, 'p', page);
}

/** Dotted paths of all keys below which the schema knows no more; a list's are those of its parts. */
function keysOf(schema: z.core.$ZodType, path = ''): string[] {
  const shape = shapeOf(schema);
  if (shape === undefined) return [path];
  return Object.entries(shape).flatMap(([key, inner]) =>
    keysOf(inner, path === '' ? key : `${path}.${key}`),
  );
}

function shapeOf(schema: z.core.$ZodType): Record<string, z.core.$ZodType> | undefined {
  const { innerType, element, shape } = schema._zod.def as {
    innerType?: z.core.$ZodType;
    element?: z.core.$ZodType;
    shape?: Record<string, z.core.$ZodType>;
  };
  const inner = innerType ?? element;
  return inner === undefined ? shape : shapeOf(inner);
}
