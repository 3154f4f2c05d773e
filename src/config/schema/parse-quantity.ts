/** Decimal suffixes as powers of ten, `apimachinery/pkg/api/resource/suffix.go`. */
const decimal: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};

const binary = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/**
 * The amount in billionths, the smallest unit of the API server, which rounds away from zero. A number in
 * YAML is a quantity, too.
 *
 * @returns undefined if it is not a Kubernetes quantity
 */
export function parseQuantityNano(value: unknown): bigint | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return undefined;
  const parts =
    /^(?<sign>[+-]?)(?=\.?\d)(?<whole>\d*)\.?(?<fraction>\d*)(?:[eE](?<exponent>[+-]?\d{1,2})|(?<suffix>[a-zA-Z]{0,2}))$/.exec(
      text,
    )?.groups;
  if (parts === undefined) return undefined;
  const { sign, whole = '', fraction = '', exponent, suffix = '' } = parts;
  const power = exponent === undefined ? (decimal[suffix] ?? 0) : Number(exponent);
  const doublings = 10 * (binary.indexOf(suffix) + 1);
  if (exponent === undefined && decimal[suffix] === undefined && doublings === 0) return undefined;
  const digits = BigInt(whole + fraction) << BigInt(doublings);
  const shift = 9 + power - fraction.length;
  const amount =
    shift >= 0 ? digits * 10n ** BigInt(shift) : roundUp(digits, 10n ** BigInt(-shift));
  return sign === '-' ? -amount : amount;
}

function roundUp(amount: bigint, unit: bigint): bigint {
  return (amount + unit - 1n) / unit;
}
