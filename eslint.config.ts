import { globSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import importX from 'eslint-plugin-import-x';
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** What each serves one subject, and knows nothing of the others. */
const domains = [
  'portal',
  'login',
  'setup/images',
  'setup/subid',
  'setup/sshd-kinds',
  'setup/sshd-lint',
  'clusters/ldap',
  'clusters/reap',
  'diagnose/trace',
  'diagnose/metrics',
] as const;

/** The one exception: what makes a configuration of sshd has it checked before it is put in place. */
const mayImport: Readonly<Partial<Record<(typeof domains)[number], (typeof domains)[number]>>> = {
  'setup/sshd-kinds': 'setup/sshd-lint',
};

/** What they stand on, top first: each may import from itself and from what stands below it. */
const shared = [
  'sessions/backends',
  'sessions/forwarding',
  'sessions/exec',
  'sessions/connections',
  'sessions/request',
  'directory',
  'clusters/access',
  'config/load',
  'credentials',
  'kube',
  'config/schema',
] as const;

/** Directories that compute data only: no process, no file, no socket, no clock. */
const pure = [
  'system/errors',
  'system/text',
  'kube/admission',
  'kube/objects',
  'config/schema',
  'clusters/reap/rules',
  'clusters/access/rules',
  'companions/cluster-api/rules',
  'setup/init/rules',
  'directory/rules',
  'clusters/ldap/rules',
  'diagnose/metrics/rules',
  'companions/balancer/rules',
  'companions/notebooks/rules',
  'companions/pages/rules',
  'companions/slurm-accounts/rules',
  'setup/sshd-kinds/rules',
  'setup/sshd-lint/rules',
  'setup/subid/rules',
  'sessions/request',
  'sessions/backends/podman/argv',
  'sessions/backends/slurm/argv',
  'sessions/backends/pod/objects',
  'sessions/exec/protocol',
  'sessions/forwarding/protocol',
] as const;

const inSrc = (names: readonly string[]): string[] => names.map((name) => `./src/${name}`);

/** Users and groups are data to them, and what looks them up is handed in. What the program is, they may know. */
const impure = [...new Set(globSync('src/*/**/*.ts').map((file) => dirname(file)))].filter(
  (directory) =>
    ![...pure, 'system/identity', 'system/program'].some((one) =>
      `${directory}/`.startsWith(`src/${one}/`),
    ),
);

/** The commands of `berth` that have a directory. */
const commands = readdirSync('src/cli', { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() && entry.name !== 'kit' ? entry.name : [],
);

/** Products of their own, which stand on the core. */
const companions = readdirSync('src/companions');

/** `system` (files, processes, sockets) stands at the bottom, beside the pure directories. */
const zones = [
  ...domains.map((domain) => ({
    target: `./src/${domain}`,
    from: inSrc(domains.filter((other) => other !== domain && other !== mayImport[domain])),
    message: 'No domain imports another.',
  })),
  {
    target: inSrc([...shared, 'system']),
    from: inSrc(['cli', 'setup/init', 'diagnose/doctor', ...domains]),
    message: 'Arrows go down.',
  },
  {
    target: inSrc(domains),
    from: inSrc(['cli', 'setup/init', 'diagnose/doctor']),
    message: 'Arrows go down.',
  },
  {
    target: inSrc(['setup/init', 'diagnose/doctor']),
    from: './src/cli',
    message: 'Arrows go down.',
  },
  { target: './src/diagnose/doctor', from: './src/setup/init', message: 'Arrows go down.' },
  {
    target: './src/cli/kit',
    from: commands.map((name) => `./src/cli/${name}`),
    message: 'The kit knows no command.',
  },
  ...commands.map((name) => ({
    target: `./src/cli/${name}`,
    // `berth node drain` ends sessions.
    from: commands
      .filter((other) => other !== name && !(name === 'node' && other === 'sessions'))
      .map((other) => `./src/cli/${other}`),
    message: 'No command imports another.',
  })),
  ...shared.slice(1).map((layer, above) => ({
    target: `./src/${layer}`,
    from: inSrc(shared.slice(0, above + 1)),
    message: 'Arrows go down.',
  })),
  { target: './src/system', from: inSrc(shared), message: 'Arrows go down.' },
  {
    target: ['./src/kube/*.ts', './src/kube/objects'],
    from: './src/kube/admission',
    message: 'Policies are about objects, and not the reverse.',
  },
  { target: './src/config/schema', from: './src/system/identity', message: 'Users are no data.' },
  { target: './src', from: ['./hooks', './shell', './test'], message: 'Arrows go down.' },
  {
    target: ['./hooks', './shell', './src/!(companions)/**/*'],
    from: './src/companions',
    message: 'The core knows no companion.',
  },
  ...companions.flatMap((name) => {
    const others = companions.filter((other) => other !== name);
    const from = others.map((other) => `./src/companions/${other}`);
    const target = `./src/companions/${name}`;
    return from.length === 0 ? [] : { target, from, message: 'No companion imports another.' };
  }),
  {
    target: inSrc(pure),
    from: impure.map((directory) => `./${directory}/*.ts`),
    message: 'A pure directory imports pure ones only.',
  },
];

export default defineConfig(
  { ignores: ['dist', 'node_modules', '.site', 'etc/helm'] },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { projectService: true } },
    settings: { 'import-x/resolver-next': [createTypeScriptImportResolver()] },
    rules: {
      'import-x/no-cycle': 'error',
      'import-x/no-duplicates': ['error', { 'prefer-inline': true }],
      'import-x/no-restricted-paths': ['error', { zones }],
      'max-lines': ['error', { max: 280, skipBlankLines: true, skipComments: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      'no-restricted-syntax': [
        'error',
        {
          selector: 'CallExpression[callee.object.name="process"][callee.property.name="exit"]',
          message: 'Only an entry point turns a result into an exit code.',
        },
      ],
    },
  },
  {
    files: ['src/**/*.ts', 'hooks/*.ts', 'shell/*.ts'],
    ignores: ['src/system/run-program.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          name: 'node:child_process',
          message: 'Programs are started by src/system/run-program.ts.',
        },
      ],
    },
  },
  {
    files: pure.map((directory) => `src/${directory}/**/*.ts`),
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { regex: '^node:(?!util$|crypto$)', message: 'A pure directory reaches no edge.' },
          ],
        },
      ],
      'no-restricted-globals': ['error', 'process', 'fetch', 'setTimeout', 'Date'],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'The environment is handed in by the entry point.',
        },
      ],
    },
  },
  {
    // A table with one line for each code.
    files: ['src/system/errors/error-codes.ts'],
    rules: { 'max-lines': 'off' },
  },
  {
    // Entry points, and the way in which they end.
    files: ['hooks/*.ts', 'shell/*.ts', 'src/system/exit-now.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
);
