import { expect, it } from 'vitest';
import { parseProfile } from '../../../src/config/schema/profile/profile-parse.ts';
import { wantedImages } from '../../../src/images/wanted-images.ts';

it("knows the images of the profiles on this host, each once, and none of a cluster's", () => {
  const profiles = Object.entries({
    b: { image: 'r/x:1' },
    a: { image: 'r/x:1', on_failure: { action: 'fallback', image: 'r/w:1' } },
    pods: { backend: 'pod', image: 'r/y:1' },
  }).map(([name, fields]) => [name, parseProfile(fields, name, `${name}.yml`)] as const);
  expect(wantedImages(new Map(profiles))).toEqual([
    { image: 'r/w:1', profiles: ['a'] },
    { image: 'r/x:1', profiles: ['a', 'b'] },
  ]);
});
