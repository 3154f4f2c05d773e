/** Options of sbatch(1) that have the same name here, each one word. */
export const batchWords = [
  ...(['partition', 'account', 'qos', 'gres', 'constraint'] as const),
  ...(['reservation', 'licenses'] as const),
] as const;
