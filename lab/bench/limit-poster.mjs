// The least that can deliver, as a process of its own: undici's Client, one request at a time on each of its connections.
import { Client } from 'undici';
import { anEnvelope } from '../../scripts/bench/envelopes.mjs';
import { answer, now } from '../../scripts/bench/tool.mjs';

/** Posts `count` envelopes to the URL; resolves with when the first was sent and how many were not answered 200. */
async function post({ url, count, connections }) {
  const { origin, pathname: path } = new URL(url);
  const requests = Array.from({ length: count }, () => {
    const { id, body } = anEnvelope();
    const headers = { 'content-type': 'application/json', 'webhook-id': id };
    return { path, method: 'POST', headers, body: Buffer.from(body) };
  });
  const clients = Array.from({ length: connections }, () => new Client(origin, { pipelining: 1 }));
  let next = 0;
  let refused = 0;
  const startedAt = now();
  await Promise.all(
    clients.map(
      (client) =>
        new Promise((done, fail) => {
          const send = () => {
            if (next === count) return done();
            client.dispatch(requests[next++], {
              onRequestStart() {},
              onResponseStart: (_, status) => void (refused += status === 200 ? 0 : 1),
              onResponseData() {},
              onResponseEnd: send,
              onResponseError: (_, error) => fail(error),
            });
          };
          send();
        }),
    ),
  );
  await Promise.all(clients.map((client) => client.close()));
  return { startedAt, refused };
}

answer({ post });
