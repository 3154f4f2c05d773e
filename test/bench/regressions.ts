/** A figure that a later run can be compared with. */
export interface Checked {
  readonly value: number;
  /** As that of `Measured`; 0 for what does not vary. */
  readonly noise: number;
  readonly better: 'lower' | 'higher';
}

/** By part and name. */
export type CheckedFigures = Readonly<Record<string, Checked>>;

/**
 * The figures that have become worse than those of an earlier run by more than the noise of both runs. A figure that only one of them has
 * is not compared.
 *
 * @returns one sentence for each, by figure
 */
export function regressions(now: CheckedFigures, before: CheckedFigures): readonly string[] {
  return Object.entries(now).flatMap(([name, figure]) => {
    const saved = before[name];
    if (saved === undefined) return [];
    const worse =
      figure.better === 'lower' ? figure.value - saved.value : saved.value - figure.value;
    const noise = figure.noise + saved.noise;
    if (!(worse > noise)) return [];
    const values = `${figure.value.toFixed(2)}, was ${saved.value.toFixed(2)} (${figure.better} is better)`;
    return [`${name}: ${values}; the runs vary by ${noise.toFixed(2)}`];
  });
}
