import {
  Curl,
  Empty,
  given,
  Id,
  Link,
  Loaded,
  place,
  Screen,
  Table,
  TextField,
  Time,
  useFilters,
  useLoad,
} from '@relay/ui';
import { type Answer, api, type QueryOf } from './session.js';
import { ClientLink } from './words.js';

type OneRecord = Answer<'readAudit'>['records'][number];

/** Fields of a record that the column of facts leaves out. */
const SHOWN = new Set([
  'at',
  'event',
  'operator',
  'partnerId',
  'v',
  'place',
  'requestId',
  'deliveryId',
  'hash',
  'traceparent',
  'tries',
]);
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The page of the audit log, newest records first. The log has the changes by clients and the findings of the relay. */
export function Audit() {
  const { event, operator, partner, webhook } = useFilters('event', 'operator', 'partner', 'webhook');
  const query = place.value.query;
  const { before, ...filters } = query;
  const input = { query: given<QueryOf<'readAudit'>>({ ...query, limit: 100 }) };
  const load = useLoad(
    JSON.stringify(query),
    () => api.call('readAudit', input),
    before === undefined ? 15_000 : undefined,
  );
  return (
    <Screen title="Audit">
      <div class="filters">
        <TextField label="Event" {...event} hint="Such as webhook.disabled." />
        <TextField label="Operator" {...operator} hint="Client id." />
        <TextField label="Partner" {...partner} hint="Client id." />
        <TextField label="Webhook" {...webhook} />
      </div>
      <Loaded of={load} what="the audit">
        {({ records, before: next }) => (
          <>
            <Table
              caption="Records, newest first"
              rows={records.map((record, index) => ({ ...record, place: `${record.at} ${index}` }))}
              keyOf={({ place: at }) => at}
              columns={[
                { name: 'At', cell: ({ at }) => <Time at={at} /> },
                { name: 'Event', cell: (record) => record.event },
                { name: 'Operator', cell: (record) => <ClientLink id={record.operator ?? ''} /> },
                { name: 'Partner', cell: ({ partnerId }) => <ClientLink id={partnerId ?? ''} /> },
                { name: 'Facts', cell: (record) => <FactsOf record={record} /> },
              ]}
              empty={<Empty title="No such record among the newest 5,000" />}
            />
            <div class="buttons">
              {before !== undefined && <Link to={['audit']} query={filters} isButton name="Newest" />}
              {next !== null && <Link to={['audit']} query={{ ...filters, before: next }} isButton name="Older" />}
            </div>
          </>
        )}
      </Loaded>
      <Curl line={api.curl('readAudit', input)} />
    </Screen>
  );
}

const FactsOf = ({ record }: { readonly record: OneRecord & { readonly place: string } }) => (
  <span class="long">
    {Object.entries(record)
      .filter(([name, value]) => !SHOWN.has(name) && value !== null)
      .map(([name, value], index) => (
        <>
          {index > 0 && ', '}
          {name}: {typeof value === 'string' && UUID.test(value) ? <Id id={value} /> : valueText(value)}
        </>
      ))}
  </span>
);

/** Maximum number of values that a row shows of a list. The record of a replay of dead letters lists up to 1,000 ids. */
const NAMED = 5;
const valueText = (value: unknown): string => {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value) || value.length <= NAMED) return JSON.stringify(value);
  return `${JSON.stringify(value.slice(0, NAMED))} and ${value.length - NAMED} more`;
};
