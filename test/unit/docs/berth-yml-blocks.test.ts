import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { parseBerthYml } from '../../../src/config/schema/berth-yml.ts';
import { codeBlocks, pages } from '../../rig/markdown-pages.ts';

describe.each(pages)('the berth.yml in %s', (name) => {
  it('is valid', () => {
    const examples = codeBlocks(name).filter(({ text }) =>
      text.startsWith('# /etc/berth/berth.yml'),
    );
    for (const { text } of examples) expect(() => parseBerthYml(parse(text), name)).not.toThrow();
  });
});
