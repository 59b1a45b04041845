import { readFileSync } from 'node:fs';
import { startRedisServer } from '@relay/testing';
import { exportedMetrics } from './exported-metrics.js';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const alerts = read('charts/partner-relay/files/alerts.yaml');
const dashboard = JSON.parse(read('charts/partner-relay/files/dashboard.json')) as {
  panels: { title: string; targets: { expr: string }[] }[];
};
const autoscaling = read('charts/partner-relay/templates/autoscaling.yaml');
const runbook = read('docs/operations/runbooks.md');

const named = [...alerts.matchAll(/- alert: (\w+)\n(?: {8}.*\n)*?/g)].map(([, name = '']) => name);
const scalers = [...autoscaling.matchAll(/"relay\.query" \(list \$ `(.+)`\)/g)].map(([, expr = '']) => ({
  where: 'autoscaling',
  expr,
}));
const OF_ONE_RELEASE = 'namespace=~"$namespace"';
const queries = [
  ...scalers,
  ...[...alerts.matchAll(/expr: (?:>-\n\s+)?(.+)/g)].map(([, expr = '']) => ({ where: 'alerts.yaml', expr })),
  ...dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({
      where: title,
      expr: expr.replaceAll(`${OF_ONE_RELEASE},`, '').replaceAll(OF_ONE_RELEASE, ''),
    })),
  ),
];

/** The metrics of a query with the labels that it selects or groups by. */
const metricsOf = (expr: string): { name: string; labels: string[] }[] =>
  [...expr.matchAll(/((?:relay|http_server)_\w+?)(?:_bucket|_sum|_count)?(?:\{([^}]*)\})?(?=[^\w{]|$)/g)].map(
    ([, name = '', inner = '']) => ({
      name,
      labels: [...inner.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
    }),
  );

describe('alerts, dashboard and autoscaling', () => {
  it('ask only for metrics and labels that the processes export', async () => {
    const server = await startRedisServer();
    const exported = new Map((await exportedMetrics(server.url())).map((metric) => [metric.name, metric]));
    await server.stop();
    const asked = queries.flatMap(({ where, expr }) =>
      metricsOf(expr).map(({ name, labels }) => ({ where, name, labels })),
    );
    expect([asked.length > 30, scalers.length]).toEqual([true, 1]);
    const unknown = asked.filter(({ name, labels }) => {
      const metric = exported.get(name);
      return metric === undefined || !labels.every((label) => metric.labels.includes(label));
    });
    expect(unknown).toEqual([]);
    const groups = queries.flatMap(({ expr }) =>
      [...expr.matchAll(/by \(([^)]+)\)/g)].map(([, by = '']) => ({ expr, by })),
    );
    const wrong = groups.filter(({ expr, by }) => {
      const labels = new Set(metricsOf(expr).flatMap(({ name }) => exported.get(name)?.labels ?? []));
      return !by.split(', ').every((label) => label === 'le' || labels.has(label));
    });
    expect(wrong).toEqual([]);
  });

  it('show one release at a time in each panel', () => {
    const all = dashboard.panels.flatMap(({ targets }) => targets);
    const counts = all.map(({ expr }) => [expr.split(OF_ONE_RELEASE).length - 1, metricsOf(expr).length]);
    expect(counts.filter(([selected, asked]) => selected !== asked)).toEqual([]);
    expect(all.length).toBeGreaterThan(20);
  });

  it('are at least eight alerts, each with its section in docs/operations/runbooks.md', () => {
    expect(named.length).toBeGreaterThanOrEqual(8);
    const sections = [...runbook.matchAll(/^### (Relay\w+)$/gm)].map(([, name = '']) => name);
    expect(sections.toSorted()).toEqual(named.toSorted());
    for (const name of named) expect(alerts).toContain(`runbook: docs/operations/runbooks.md#${name.toLowerCase()}`);
  });
});
