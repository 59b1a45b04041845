import { AttemptsChart, Loaded, useLoad } from '@relay/ui';
import { api } from './session.js';

const HOUR_MS = 3_600_000;
const EVERY_MS = 60_000;

/** Chart of the attempts by the hour, of one webhook or of all. */
export function CountsChart({ webhookId }: { readonly webhookId?: string }) {
  const query = webhookId === undefined ? {} : { webhookId };
  const load = useLoad(`counts ${webhookId ?? ''}`, () => api.call('countDeliveries', { query }), EVERY_MS);
  return (
    <section class="panel" aria-label="Attempts by the hour">
      <Loaded of={load} what="the attempts by the hour">
        {({ hours }) => <AttemptsChart title="Attempts by the hour" counts={hours} stepMs={HOUR_MS} />}
      </Loaded>
    </section>
  );
}
