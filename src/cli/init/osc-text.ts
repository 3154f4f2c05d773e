import { escapedForTerminal } from '../../log.ts';
import type { OscReport } from '../../init/osc-report.ts';

/** What becomes of OSC's hooks, key by key. */
export function oscText({ hookEnv, keys, directory, files, warnings }: OscReport): string {
  const lines = [
    `${hookEnv}, which Berth reads as it is:`,
    ...keys.flatMap(({ key, value, becomes }) => [`  ${key}=${value}`, `      ${becomes}`]),
    ...warnings.map(
      ({ message, file, line }) =>
        `  warning: ${file}${line === undefined ? '' : `:${line}`}: ${message}`,
    ),
    ...(files.length === 0
      ? [
          directory === undefined
            ? 'scripts and manifests: give their directory with --osc-scripts'
            : `no scripts and manifests in ${directory}: if they are elsewhere, give --osc-scripts`,
        ]
      : [
          'scripts and manifests, which are not read: what you have added to them is not taken over, so compare them with those of OSC',
        ]),
    ...files.map(({ key, becomes }) => `  ${key}: ${becomes}`),
  ];
  const without = [...keys, ...files].filter(({ counterpart }) => !counterpart);
  if (without.length > 0)
    lines.push(`without a counterpart: ${without.map(({ key }) => key).join(', ')}`);
  return `${lines.map((line) => escapedForTerminal(line)).join('\n')}\n\n`;
}
