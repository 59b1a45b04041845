import { Badge, countOf, Empty, Loaded, Table, Time, useLoad } from '@relay/ui';
import { type Answer, api } from './session.js';

/** The relay looks twice a minute. */
const EVERY_MS = 30_000;

type Now = Answer<'readNow'>;

/** What is accepted and delivered now, and which of the chart's alerts fire. */
export function Alerts() {
  const now = useLoad('now', () => api.call('readNow', {}), EVERY_MS);
  return (
    <>
      <h2>Rates of the last minute</h2>
      <Loaded of={now} what="the rates">
        {({ rates }) => (
          <p>
            {perSecond(rates.accepted)} accepted, {perSecond(rates.delivered)} delivered, {perSecond(rates.failed)}{' '}
            attempts failed.
          </p>
        )}
      </Loaded>
      <h2>Alerts</h2>
      <Loaded of={now} what="the alerts">
        {({ alerts }) => <List alerts={alerts} />}
      </Loaded>
    </>
  );
}

function List({ alerts }: Pick<Now, 'alerts'>) {
  const told = alerts.filter(({ state }) => state === 'firing' || state === 'pending');
  const unknown = alerts.filter(({ state }) => state === 'unknown');
  return (
    <>
      {told.length === 0 ? (
        <Empty title="No alert fires, as far as is known here" />
      ) : (
        <Table
          caption="Alerts that fire or are about to"
          rows={told}
          keyOf={({ name }) => name}
          columns={[
            { name: 'Alert', cell: ({ name }) => name },
            {
              name: 'State',
              cell: ({ state, severity }) => <Badge kind={severity === 'critical' ? 'bad' : 'warn'}>{state}</Badge>,
            },
            { name: 'Since', cell: ({ since }) => (since === null ? '–' : <Time at={since} />) },
            { name: 'What it means', cell: ({ means }) => means },
          ]}
        />
      )}
      {unknown.length > 0 && (
        <p class="quiet">
          {countOf(unknown.length, 'rule')} only Prometheus can evaluate: {unknown.map(({ name }) => name).join(', ')}.
        </p>
      )}
    </>
  );
}

const perSecond = (rate: number | null): string => (rate === null ? '?' : `${rate.toFixed(1)}/s`);
