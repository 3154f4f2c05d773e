/** Why sbatch(1) refuses jobs (slurm_strerror(3)), for people. */
const words: readonly (readonly [RegExp, string])[] = [
  [/Invalid account/, 'the account does not exist, or may not use the partition for you'],
  [
    /violates accounting\/QOS policy/,
    'a limit of your account or QOS is reached (number of jobs, size or time)',
  ],
  [/Invalid qos/i, 'the QOS does not exist, or is not for you'],
  [/invalid partition/i, 'there is no such partition'],
  [/partition .*(?:not available|down|inactive)/i, 'the partition is not in use now'],
  [/configuration is not available/, 'no node has what it asks for'],
  [/time limit is invalid|Requested time limit/, 'it asks for more time than the partition allows'],
];

/** @param said what sbatch printed, in one line @returns the same, after what it means */
export function refusalText(said: string): string {
  const [, meaning] = words.find(([pattern]) => pattern.test(said)) ?? [];
  return meaning === undefined ? said : `${meaning} (${said})`;
}
