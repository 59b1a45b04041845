import { timingText } from './envelopes.group.js';

it.each([
  [{ reused: true, waitMs: 0, firstByteMs: 1_002 }, 'on a kept connection, first byte 1002 ms'],
  [
    { reused: false, waitMs: 1, dnsMs: 3, connectMs: 20, tlsMs: 41, firstByteMs: 7 },
    'on a new connection, wait 1 ms, dns 3 ms, connect 20 ms, tls 41 ms, first byte 7 ms',
  ],
  [{ reused: false }, 'on a new connection'],
])('timingText tells %j as: %s', (timing, text) => {
  expect(timingText(timing)).toBe(text);
});
