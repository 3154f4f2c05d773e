/** Kubeconfigs of less than 2 KiB that hold the YAML parser up for minutes. */
export const yamlBombs = {
  aliases: `a: &a []\nb: &b [${'*a,'.repeat(320)}]\nc: [${'*b,'.repeat(320)}]\n`,
  // Within the limits that are checked before it is parsed.
  keys: `${'{'.repeat(600)}a${'}'.repeat(600)}\n`,
} as const;
