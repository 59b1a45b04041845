import { eventTypes } from '@relay/events';
import { EventTypeRecord } from './event-type.js';
import { EventTypesView, type StoredType } from './event-types.adapter.js';

const stored = (name: string, revision: number): [string, StoredType] => {
  const schema = { properties: { total: { type: 'number' } } };
  const record = EventTypeRecord.parse({
    name,
    description: '',
    schema,
    revision,
    archived: false,
    updatedAt: revision,
  });
  return [name, { record, text: JSON.stringify(record) }];
};

it('a change of one event type keeps the compiled schema of every other', async () => {
  let revision = 1;
  const view = new EventTypesView(
    {
      all: () => Promise.resolve(new Map([stored('order.paid', revision), stored('order.sent', 1)])),
      version: () => Promise.resolve(String(revision)),
    },
    true,
  );
  await view.refresh();
  const [paid, sent] = [eventTypes.applied('order.paid'), eventTypes.applied('order.sent')];
  revision = 2;
  await view.refresh();
  expect(eventTypes.applied('order.sent')).toBe(sent);
  expect(eventTypes.applied('order.paid')).toMatchObject({ revision: 2 });
  expect(eventTypes.applied('order.paid')).not.toBe(paid);
});
