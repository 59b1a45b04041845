import { AttemptsChart, Chart, durationText, fragmentOf, Loaded, Notice, place, Refused, useLoad } from '@relay/ui';
import { api } from './session.js';

const EVERY_MS = 15_000;
const RANGES = {
  minute: { name: 'Last hour', stepMs: 60_000 },
  hour: { name: 'Last 24 hours', stepMs: 3_600_000 },
} as const;

/** Charts of the attempts at all webhooks, by the minute or the hour, from the index of attempts. */
export function Charts() {
  const step = place.value.query['by'] === 'hour' ? 'hour' : 'minute';
  const { stepMs } = RANGES[step];
  const load = useLoad(step, () => api.call('countAttempts', { query: { step } }), EVERY_MS);
  if (load.error instanceof Refused && load.error.status === 404)
    return (
      <Notice kind="info" title="No charts: the index of attempts is off here">
        <p>SEARCH_INDEX turns it on. The page of a webhook has a chart of its attempts without the index.</p>
      </Notice>
    );
  return (
    <>
      <div class="buttons" role="group" aria-label="Period of the charts">
        {(['minute', 'hour'] as const).map((each) => (
          <a key={each} class="button" href={fragmentOf([], { by: each })} aria-current={each === step}>
            {RANGES[each].name}
          </a>
        ))}
      </div>
      <Loaded of={load} what="the charts">
        {({ counts, lag, incomplete }) => (
          <>
            {incomplete.length > 0 && (
              <p class="quiet">
                The index of attempts is {lag} records behind, so the charts lack the newest attempts.
              </p>
            )}
            {counts.length > 0 && (
              <div class="columns">
                <div class="panel">
                  <AttemptsChart title="Attempts" counts={counts} stepMs={stepMs} />
                </div>
                <div class="panel">
                  <Chart
                    title="Latency"
                    at={counts.map(({ at }) => at)}
                    stepMs={stepMs}
                    shape="lines"
                    text={durationText}
                    series={[
                      { name: 'p50', kind: 'info', values: counts.map(({ p50Ms }) => p50Ms) },
                      { name: 'p95', kind: 'warn', values: counts.map(({ p95Ms }) => p95Ms) },
                      { name: 'p99', kind: 'bad', values: counts.map(({ p99Ms }) => p99Ms) },
                    ]}
                  />
                </div>
              </div>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

/** Chart of the attempts at one webhook by the hour. */
export function WebhookChart({ id }: { readonly id: string }) {
  const load = useLoad(`counts ${id}`, () => api.call('countWebhookAttempts', { path: { id } }), EVERY_MS);
  return (
    <div class="panel">
      <Loaded of={load} what="the attempts by the hour">
        {({ hours }) => <AttemptsChart title="Attempts" counts={hours} stepMs={RANGES.hour.stepMs} />}
      </Loaded>
    </div>
  );
}
