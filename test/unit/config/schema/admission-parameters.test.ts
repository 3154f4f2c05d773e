import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseAdmissionParameters } from '../../../../src/config/schema/admission-parameters.ts';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';

const example = new URL('../../../../etc/berth/admission.yml.example', import.meta.url).pathname;

describe('admission.yml', () => {
  it('has the defaults in its example', () => {
    const text = readFileSync(example, 'utf8');

    expect(parseAdmissionParameters(parse(text), example)).toEqual(
      parseAdmissionParameters({}, example),
    );
  });

  it('accepts paths with * and {user}, read-only or not', () => {
    const { hostPaths, defaultLifetime } = parseAdmissionParameters(
      { host_paths: ['/home/{user}', '/fs/*/data', '/apps:ro'], default_lifetime: null },
      'f',
    );

    expect(hostPaths).toEqual([
      { path: '/home/{user}', readOnly: false },
      { path: '/fs/*/data', readOnly: false },
      { path: '/apps', readOnly: true },
    ]);
    expect(defaultLifetime).toBeUndefined();
  });

  it('accepts keys of annotations and whole domains', () => {
    const annotations = ['note', 'org.criu.config', 'example.org/key_1', 'x.example.org/*'];

    expect(parseAdmissionParameters({ annotations }, 'f')).toMatchObject({ annotations });
  });

  it('accepts registries, parts of one, and everything below one', () => {
    const images = [
      'localhost/*',
      'quay.io/jupyter/*',
      'r.example.org:5000',
      'docker.io/library/x',
    ];

    expect(parseAdmissionParameters({ images }, 'f').images).toEqual([
      ...['localhost', 'quay.io/jupyter', 'r.example.org:5000', 'docker.io/library/x'],
    ]);
    expect(parseAdmissionParameters({ images: ['*'] }, 'f').images).toEqual(['*']);
  });

  it.each([
    'local*',
    '*.example.org',
    '*/x',
    'r.example.org/*/x',
    'r.example.org/',
    'https://r.example.org',
    'ubuntu',
    'jupyter/base',
  ])('refuses the image %s, which would match nothing', (one) => {
    expect(() => parseAdmissionParameters({ images: [one] }, 'f')).toThrow('images.1 must be');
  });

  it.each([
    ...['csi_drivers', 'storage_classes', 'load_balancer_classes', 'service_accounts'],
    ...['token_audiences', 'tolerations', 'priority_classes', 'runtime_classes'],
    ...['device_classes', 'seccomp_profiles', 'apparmor_profiles'],
  ])('refuses * in %s, which would match nothing', (key) => {
    for (const one of ['*', 'example.org/*'])
      expect(() => parseAdmissionParameters({ [key]: [one] }, 'f')).toThrow(
        `${key}.1 must consist`,
      );
  });

  it.each<[string, object, string]>([
    ['a key that is misspelt', { host_path: [] }, 'host_path is unknown: did you mean host_paths?'],
    ['a path that leads up', { host_paths: ['/home/..'] }, 'host_paths.1 must not contain . or ..'],
    ['a path from nowhere', { host_paths: ['home'] }, 'host_paths.1 must be an absolute path'],
    [
      'an unknown sign',
      { host_paths: ['/home/{uid}'] },
      'nor special characters except * and {user}',
    ],
    ['a quote, which would end the CEL', { contact: "x' || true || '" }, 'contact must be text'],
    ['a quote in an image', { images: ["a' || '"] }, "images.1 must be '*', or a registry"],
    ['half a domain of annotations', { annotations: ['*.example.org/x'] }, 'annotations.1 must be'],
    ['every annotation', { annotations: ['*'] }, 'annotations.1 must be the key of an annotation'],
    ['a lifetime in days', { max_lifetime: '7d' }, 'max_lifetime must be a time'],
    ['no lifetime at all', { max_lifetime: '0h' }, 'max_lifetime must be a time'],
    ['a grace period in seconds alone', { max_grace_period: 300 }, 'max_grace_period'],
    ['no grace period at all', { max_grace_period: '0s' }, 'max_grace_period must be a time'],
    ['a CPU in words', { default_resources: { cpu: 'lots' } }, 'cpu must be a quantity'],
    ['a number as a lifetime', { max_lifetime: 8 }, 'max_lifetime must be a time such as 8h'],
    ['half a server', { nfs: ['nfs.example.org'] }, 'nfs.1 must be SERVER:/PATH'],
    [
      'the account of sessions',
      { service_accounts: ['berth-session'] },
      'must not be berth-session',
    ],
    ['the old default', { service_accounts: ['x', 'berth-user'] }, 'service_accounts.2 must not'],
    ['a resource that is free', { writable_resources: ['pods'] }, 'writable_resources.1 must be'],
    ['an account without a namespace', { stampers: ['berth-hook'] }, 'must be NAMESPACE:NAME'],
  ])('refuses %s', (_, document, says) => {
    const attempt = (): unknown => parseAdmissionParameters(document, '/etc/berth/admission.yml');

    expect(attempt).toThrow(says);
    expect(attempt).toThrow(BerthError);
  });
});
