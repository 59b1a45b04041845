import { Badge, Empty, Loaded, Table, useLoad } from '@relay/ui';
import { api } from './session.js';

/** An examination asks both stores many questions. */
const EVERY_MS = 60_000;

/** What the doctor found wrong, and how to mend it. */
export function Findings() {
  const found = useLoad('findings', () => api.call('readFindings', {}), EVERY_MS);
  return (
    <>
      <h2>Doctor</h2>
      <Loaded of={found} what="the findings of the doctor">
        {({ findings }) => {
          const wrong = findings.filter(({ state }) => state !== 'ok');
          if (wrong.length === 0) return <Empty title="The doctor found no fault" />;
          return (
            <Table
              caption="Findings of the doctor"
              rows={wrong}
              keyOf={({ check, text }) => `${check} ${text}`}
              columns={[
                { name: 'Check', cell: ({ check }) => check },
                {
                  name: 'State',
                  cell: ({ state }) => <Badge kind={state === 'fault' ? 'bad' : 'warn'}>{state}</Badge>,
                },
                { name: 'What was found', cell: ({ text }) => text },
                { name: 'What mends it', cell: ({ fix }) => fix ?? '–' },
              ]}
            />
          );
        }}
      </Loaded>
    </>
  );
}
