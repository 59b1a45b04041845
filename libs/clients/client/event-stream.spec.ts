import { eventsIn, type StreamEvent } from './listen.js';

async function read(text: string, size = text.length): Promise<StreamEvent[]> {
  const bytes = Buffer.from(text);
  const parts = (async function* () {
    for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
  })();
  const events: StreamEvent[] = [];
  for await (const event of eventsIn(parts)) events.push(event);
  return events;
}

describe('eventsIn', () => {
  const text =
    'retry: 1000\nid: a\nevent: open\ndata: {}\n\nid: b\n\nevent: delivery\ndata: 1\u2028é🌍\ndata:  2\n\n: a comment\n\n';
  const events = [
    { name: 'open', data: '{}', id: 'a' },
    { name: '', data: '', id: 'b' },
    { name: 'delivery', data: '1\u2028é🌍\n 2', id: 'b' },
    { name: '', data: '', id: 'b' },
  ];

  it.each([1, 2, 3, 7, 1_000])('reads what comes in pieces of %i bytes', async (size) => {
    expect(await read(text, size)).toEqual(events);
    expect(await read(text.replaceAll('\n', '\r\n'), size)).toEqual(events);
  });

  it('leaves out an event whose end never came', async () => {
    expect(await read('id: a\ndata: 1\n\nid: b\ndata: 2\n')).toEqual([{ name: '', data: '1', id: 'a' }]);
  });

  it('gives up what has no end', async () => {
    await expect(read(`data: ${'x'.repeat(5_000_000)}`)).rejects.toThrow('is no event');
  });
});
