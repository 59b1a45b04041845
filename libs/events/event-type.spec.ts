import { EVENT_TYPES, isEventType, subjectOf } from './index.js';
import type { Subject } from './index.js';

describe('event types', () => {
  it('are the 14 of the specification', () => {
    expect(new Set(EVENT_TYPES).size).toBe(14);
  });

  it('name the six subjects', () => {
    const subjects: Subject[] = EVENT_TYPES.map((type) => subjectOf(type));
    expect([...new Set(subjects)]).toEqual(['task', 'recommendation', 'plan', 'message', 'notification', 'tax_return']);
  });

  it.each(['task.filed', 'Task.created', 'task', '', 'toString', null, 7])('do not include %j', (value) => {
    expect(isEventType(value)).toBe(false);
  });
});
