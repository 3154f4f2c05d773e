import { expect, it } from 'vitest';
import { parseProfile } from '../../../../src/config/schema/profile/profile-parse.ts';
import { wantedImages } from '../../../../src/setup/images/wanted-images.ts';

it('knows the images of containers and of jobs, each once, and none of pods', () => {
  const profiles = Object.entries({
    b: { image: 'r/x:1' },
    a: { image: 'r/x:1', on_failure: { action: 'fallback', image: 'r/w:1' } },
    jobs: { backend: 'slurm', image: 'r/z:1', lifetime: 'user' },
    pods: { backend: 'pod', image: 'r/y:1' },
  }).map(([name, fields]) => [name, parseProfile(fields, name, `${name}.yml`)] as const);
  expect(wantedImages(new Map(profiles))).toEqual([
    { image: 'r/w:1', profiles: ['a'] },
    { image: 'r/x:1', profiles: ['a', 'b'] },
    { image: 'r/z:1', profiles: ['jobs'] },
  ]);
});
