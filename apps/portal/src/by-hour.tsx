import { countText, given, relayNow, useLoad, type InputOf } from '@relay/ui';
import type { Operations } from '@relay/client';
import { api } from './session.js';
import { hourly, type Delivery } from './words.js';

const EVERY_MS = 15_000;
const DAY_MS = 86_400_000;
const MOST = 200;

/** The filters of a list of deliveries. */
export type DeliveryQuery = Omit<NonNullable<InputOf<Operations, 'listAllDeliveries'>['query']>, 'limit' | 'cursor'>;

/** Loads the newest deliveries of the last 24 hours, of one webhook or of all. */
export const useLastDay = (webhookId?: string) =>
  useLoad(
    `last day ${webhookId ?? ''}`,
    async () => {
      const since = new Date(relayNow() - DAY_MS).toISOString();
      const query = { ...given<DeliveryQuery>({ since, webhookId }), limit: String(MOST) };
      return (await api.call('listAllDeliveries', { query })).deliveries;
    },
    EVERY_MS,
  );

interface CountedProps {
  readonly deliveries: readonly Delivery[];
}

/** Chart of the deliveries of the last 24 hours, of one webhook or of all. */
export function ByHour({ deliveries }: CountedProps) {
  const { hours, delivered, failed, label } = counted(deliveries);
  return (
    <section class="panel" aria-labelledby="by-hour">
      <div class="screen-head">
        <h2 id="by-hour">Delivered and failed by hour</h2>
        <p class="legend small">
          <span class="arrived">{countText(delivered)} delivered</span>
          <span class="lost">{countText(failed)} failed</span>
        </p>
      </div>
      <Bars hours={hours} label={label} />
      <p class="axis quiet small">
        <span>24 hours ago</span>
        {deliveries.length >= MOST && <span>newest {countText(MOST)} deliveries</span>}
        <span>now</span>
      </p>
    </section>
  );
}

/** The same chart as small as a word. */
export function Sparkline({ deliveries }: CountedProps) {
  const { hours, label } = counted(deliveries);
  return (
    <div class="spark">
      <Bars hours={hours} label={label} />
    </div>
  );
}

type Hours = ReturnType<typeof hourly>;

function counted(deliveries: readonly Delivery[]) {
  const hours = hourly(deliveries, relayNow());
  const sumOf = (kind: 'delivered' | 'failed'): number => hours.reduce((sum, hour) => sum + hour[kind], 0);
  const [delivered, failed] = [sumOf('delivered'), sumOf('failed')];
  return { hours, delivered, failed, label: `Last 24 hours: ${delivered} delivered, ${failed} failed` };
}

const [WIDTH, HEIGHT] = [240, 48];
const STEP = WIDTH / 24;

/** A bar for each hour: the delivered deliveries, and above them the failed. */
function Bars({ hours, label }: { readonly hours: Hours; readonly label: string }) {
  const most = Math.max(1, ...hours.map(({ delivered, failed }) => delivered + failed));
  return (
    <svg class="bars" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {hours.map(({ delivered, failed }, index) => {
        const [low, high] = [(delivered / most) * HEIGHT, (failed / most) * HEIGHT];
        const x = index * STEP + 1;
        return (
          <g key={x}>
            <rect x={x} y={HEIGHT - 1} width={STEP - 2} height={1} class="base" />
            <rect x={x} y={HEIGHT - low} width={STEP - 2} height={low} class="arrived" />
            <rect x={x} y={HEIGHT - low - high} width={STEP - 2} height={high} class="lost" />
          </g>
        );
      })}
    </svg>
  );
}
