/** One block of an event stream. Without data it only tells the id. */
export interface StreamEvent {
  readonly name: string;
  readonly data: string;
  /** The last one told, in this block or before it. */
  readonly id: string;
}

/** Longer than any event of the relay: what is longer is something else. */
const MOST_CHARACTERS = 4 * 1024 * 1024;

/**
 * Reads server-sent events (WHATWG HTML, section 9.2.6), each as soon as its end has come.
 * @throws Error for one that does not end
 */
export async function* eventsIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let [rest, name, id] = ['', '', ''];
  let data: string[] = [];
  for await (const part of bytes) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MOST_CHARACTERS) throw new Error('What the relay sent is no event');
    for (const line of lines.map((each) => (each.endsWith('\r') ? each.slice(0, -1) : each))) {
      if (line === '') {
        yield { name, data: data.join('\n'), id };
        [name, data] = ['', []];
        continue;
      }
      const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (field === 'id') id = value;
      else if (field === 'event') name = value;
      else if (field === 'data') data.push(value);
    }
  }
}
