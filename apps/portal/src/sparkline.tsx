import { countOf } from '@relay/ui';
import { hourly, type Delivery } from './words.js';

const [WIDTH, HEIGHT] = [120, 24];
const STEP = WIDTH / 24;

/** The last 24 hours as bars: what was delivered, and above it what was not. */
export function Sparkline({ deliveries, nowMs }: { readonly deliveries: readonly Delivery[]; readonly nowMs: number }) {
  const hours = hourly(deliveries, nowMs);
  const most = Math.max(1, ...hours.map(({ delivered, failed }) => delivered + failed));
  const [delivered, failed] = [
    hours.reduce((sum, hour) => sum + hour.delivered, 0),
    hours.reduce((sum, hour) => sum + hour.failed, 0),
  ];
  const label = `Last 24 hours: ${countOf(delivered, 'delivery', 'deliveries')} arrived, ${failed} did not`;
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <line x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} class="base" />
      {hours.map((hour, index) => {
        const [low, high] = [(hour.delivered / most) * HEIGHT, (hour.failed / most) * HEIGHT];
        const x = index * STEP;
        return (
          <g key={x}>
            <rect x={x} y={HEIGHT - low} width={STEP - 1} height={low} class="arrived" />
            <rect x={x} y={HEIGHT - low - high} width={STEP - 1} height={high} class="lost" />
          </g>
        );
      })}
    </svg>
  );
}
