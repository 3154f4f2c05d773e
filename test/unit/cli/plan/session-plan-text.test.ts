import { describe, expect, it } from 'vitest';
import { sessionPlanText, writeSessionPlan } from '../../../../src/cli/plan/session-plan-text.ts';

describe('a session that does not start, in the plan', () => {
  it('prints why, and each mistake of the profile, escaped for a terminal', () => {
    const text = sessionPlanText({
      ...{ user: 'ada', outcome: 'refused', reason: 'profile gpu has mistakes' },
      code: 'profile-invalid',
      obstacles: [],
      mistakes: 'podman.devices: no path\npod.requests: \u001b[2J is no number',
    });
    expect(text.split('\n')[0]).toBe('ada gets no session: profile gpu has mistakes');
    expect(text).toContain('podman.devices: no path');
    expect(text).toContain('pod.requests: ');
    expect(text).not.toContain('\u001b');
  });

  it.each([
    ['profile-not-matched', 'ada is refused: x\n', 77],
    ['profile-missing', 'ada gets no session: x\n', 78],
    ['config-yaml-invalid', 'ada gets no session: x\n', 78],
  ] as const)('is the user’s only if no rule is for them: %s', (code, text, status) => {
    const plan = { user: 'ada', outcome: 'refused', reason: 'x', obstacles: [], code } as const;
    let written = '';
    const stdout = { write: (more: string) => (written += more) };
    expect(writeSessionPlan(plan, 'text', { stdout })).toBe(status);
    expect(written).toBe(text);
  });
});
