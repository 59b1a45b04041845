// Just enough HTTP/1.1 for the tools: a client library takes more CPU than the measured code.

/** A reader of one connection: feed it chunks, it calls `onMessage(head, body)` for each whole message. */
export function messageReader(onMessage) {
  let text = '';
  return (chunk) => {
    text += chunk.latin1Slice();
    for (;;) {
      const head = text.indexOf('\r\n\r\n');
      if (head < 0) return;
      const whole = head + 4 + lengthOf(text, head);
      if (text.length < whole) return;
      const message = text;
      text = text.slice(whole);
      onMessage(message.slice(0, head), message.slice(head + 4, whole));
    }
  };
}

/** A header's value, by its name in lower case; '' when there is none. */
export function headerOf(head, name) {
  return new RegExp(`\r\n${name}: *([^\r]*)`, 'i').exec(head)?.[1] ?? '';
}

const LENGTH = /\r\ncontent-length: *(\d+)/i;
const lengthOf = (text, head) => Number(LENGTH.exec(text.slice(0, head))?.[1] ?? 0);
