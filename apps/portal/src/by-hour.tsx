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

const [WIDTH, HEIGHT] = [240, 48];
const STEP = WIDTH / 24;

/** A bar for each hour: the delivered deliveries, and above them the failed. */
export function Bars({ deliveries }: { readonly deliveries: readonly Delivery[] }) {
  const hours = hourly(deliveries, relayNow());
  const most = Math.max(1, ...hours.map(({ delivered, failed }) => delivered + failed));
  const sumOf = (kind: 'delivered' | 'failed'): string =>
    `${countText(hours.reduce((sum, hour) => sum + hour[kind], 0))} ${kind}`;
  const label = `Last 24 hours: ${sumOf('delivered')}, ${sumOf('failed')}`;
  return (
    <svg class="bars" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {hours.map(({ delivered, failed }, index) => {
        const [low, high] = [(delivered / most) * HEIGHT, (failed / most) * HEIGHT];
        const at = { x: index * STEP + 1, width: STEP - 2 };
        return (
          <g key={index}>
            <rect {...at} y={HEIGHT - 1} height={1} class="base" />
            <rect {...at} y={HEIGHT - low} height={low} class="arrived" />
            <rect {...at} y={HEIGHT - low - high} height={high} class="lost" />
          </g>
        );
      })}
    </svg>
  );
}
