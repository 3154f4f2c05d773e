/** The sizes that a part measures, or `BERTH_SCALE_PERCENT` of them, to try the part itself. */
export function scaled(...counts: readonly number[]): readonly number[] {
  const percent = Number(process.env.BERTH_SCALE_PERCENT ?? '100');
  if (!(percent > 0)) throw new Error('BERTH_SCALE_PERCENT must be a number above 0');
  return counts.map((count) => Math.ceil((count * percent) / 100));
}
