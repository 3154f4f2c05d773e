import { describe, expect, it } from 'vitest';
import { sessionPlanText } from '../../../src/cli/session-plan-text.ts';

describe('a session that is refused, in the plan', () => {
  it('prints why, and each mistake of the profile, escaped for a terminal', () => {
    const text = sessionPlanText({
      ...{ user: 'ada', outcome: 'refused', reason: 'profile gpu has mistakes' },
      obstacles: [],
      mistakes: 'podman.devices: no path\npod.requests: \u001b[2J is no number',
    });
    expect(text.split('\n')[0]).toBe('ada is refused: profile gpu has mistakes');
    expect(text).toContain('podman.devices: no path');
    expect(text).toContain('pod.requests: ');
    expect(text).not.toContain('\u001b');
  });
});
