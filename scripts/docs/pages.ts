import { format, resolveConfig } from 'prettier';
import { chartPages } from './chart/chart-pages.ts';
import { commandsPage } from './commands-page.ts';
import { configReferencePages } from './config-reference.ts';
import { schemaPages } from './config-schemas.ts';
import { outputSchemaPages } from './output-schemas.ts';
import { dashboardPages } from './dashboards/dashboard-pages.ts';
import { logLinesPage } from './log-lines-page.ts';
import { metricsPage } from './metrics-page.ts';
import { scaleCurves } from './scale/scale-curves.ts';
import { scalePage } from './scale/scale-pages.ts';
import type { GeneratedPage } from './page.ts';

/** Every generated page, one module each. */
export const generatedPages: readonly GeneratedPage[] = [
  commandsPage,
  logLinesPage,
  metricsPage,
  scalePage,
  scaleCurves,
  ...schemaPages,
  ...outputSchemaPages,
  ...configReferencePages,
  ...chartPages,
  ...dashboardPages,
];

/** The page as `npm run lint` wants it; `filepath` selects prettier's parser (JSON, Markdown). */
export async function formattedPage({
  path,
  markdown,
  raw = false,
}: GeneratedPage): Promise<string> {
  if (raw) return markdown();
  return format(await markdown(), { ...(await resolveConfig(path)), filepath: path });
}
