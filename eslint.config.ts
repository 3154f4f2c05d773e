import importX from 'eslint-plugin-import-x';
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/**
 * The layers of the design, top first. A layer may import from itself and from what stands below it.
 * `system` (the edges) stands beside the pure layers: those may not import it.
 */
const layers = [
  'cli',
  'flows',
  'session',
  'credentials',
  'reconcile',
  'desired',
  'identity',
  'config',
] as const;

/** Layers that compute data only: no process, no file, no socket, no clock. */
const pure = ['session', 'desired', 'config'] as const;

const nothingAbove = layers.flatMap((layer, height) =>
  layers.slice(0, height).map((above) => ({
    target: `./src/${layer}`,
    from: `./src/${above}`,
    message: 'Arrows go down.',
  })),
);

const edgesAtTheBottom = [
  {
    target: './src/system',
    from: layers.map((layer) => `./src/${layer}`),
    message: 'Arrows go down.',
  },
  { target: './src', from: ['./hooks', './shell', './test'], message: 'Arrows go down.' },
  ...pure.map((layer) => ({
    target: `./src/${layer}`,
    from: './src/system',
    message: 'A pure layer reaches no edge.',
  })),
];

export default defineConfig(
  { ignores: ['dist', 'node_modules', '.site'] },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { projectService: true } },
    settings: { 'import-x/resolver-next': [createTypeScriptImportResolver()] },
    rules: {
      'import-x/no-cycle': 'error',
      'import-x/no-restricted-paths': ['error', { zones: [...nothingAbove, ...edgesAtTheBottom] }],
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
    files: pure.map((layer) => `src/${layer}/**/*.ts`),
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { regex: '^node:(?!util$|crypto$)', message: 'A pure layer imports no edge.' },
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
    // Entry points, and the way in which they end.
    files: ['hooks/*.ts', 'shell/*.ts', 'src/system/leave.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
);
