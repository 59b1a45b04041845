import { Chart } from './chart.js';

interface AttemptsChartProps {
  readonly title: string;
  readonly counts: readonly Readonly<{ at: string; delivered: number; failedAttempts: number }>[];
  readonly stepMs: number;
}

/** Chart of the delivered and failed attempts of each hour or minute. */
export const AttemptsChart = ({ title, counts, stepMs }: AttemptsChartProps) => (
  <Chart
    title={title}
    at={counts.map(({ at }) => at)}
    stepMs={stepMs}
    shape="bars"
    series={[
      { name: 'Delivered', kind: 'good', values: counts.map(({ delivered }) => delivered) },
      { name: 'Failed', kind: 'bad', values: counts.map(({ failedAttempts }) => failedAttempts) },
    ]}
  />
);
