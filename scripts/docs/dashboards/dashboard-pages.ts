import type { GeneratedPage } from '../page.ts';
import { capacity } from './capacity.ts';
import { dashboardJson } from './dashboard.ts';
import { day } from './day.ts';

/** Grafana's dashboards. */
export const dashboardPages: readonly GeneratedPage[] = [day, capacity].map((dashboard) => ({
  path: `etc/grafana/${dashboard.uid}.json`,
  markdown: () => JSON.stringify(dashboardJson(dashboard)),
}));
