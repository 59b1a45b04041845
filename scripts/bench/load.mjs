// The load tool: posts envelopes over keep-alive connections, either as fast as they are answered or at a fixed rate.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope } from './envelopes.mjs';
import { messageReader } from './http-messages.mjs';
import { quantile } from './numbers.mjs';
import { answer, now } from './tool.mjs';

/** Posts `count` envelopes; with `partners` each is for one of them, in turn. `pace` is what exchange() takes. */
async function post({ token, count, type, partners = [], ...pace }) {
  const head = `POST /deliveries HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`;
  const requests = Array.from({ length: count }, (_, index) => {
    const { id, body } = anEnvelope(type);
    const partner = partners[index % partners.length];
    const audience = partner === undefined ? '' : `relay-partner: ${partner}\r\n`;
    const bytes = Buffer.from(`${head}${audience}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    return { id, bytes, sentAt: 0 };
  });
  const accepted = new Map();
  const latencies = [];
  const otherAnswers = {};
  const times = await exchange(requests, pace, ({ id, sentAt }, status, body, ms) => {
    if (status === '202' && body.includes('"accepted"')) {
      accepted.set(id, sentAt);
      latencies.push(ms);
    } else otherAnswers[status] = (otherAnswers[status] ?? 0) + 1;
  });
  return { accepted, otherAnswers, ...times, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

/**
 * Sends each request and hands its answer over. With `rate` (a second) each goes at its time whether or not earlier ones are
 * answered, else each connection sends its next one when the last is answered. Times are taken when the request is written. Several
 * ports share the connections.
 */
async function exchange(requests, { port, connections, rate }, take) {
  let answered = 0;
  const { promise: over, resolve: done, reject: fail } = Promise.withResolvers();
  const onAnswer = (request, head, body) => {
    const at = now();
    take(request, head.slice(9, 12), body, at - request.sentAt);
    answered += 1;
    if (answered === requests.length) done(at);
  };
  const ports = [port].flat();
  let opened = 0;
  const open = () => openConnection(ports[opened++ % ports.length], onAnswer, fail);
  const pool = await Promise.all(Array.from({ length: connections }, open));
  const startedAt = now();
  const lateness = rate ? sendAtRate(requests, rate, pool, open) : sendInTurn(requests, pool);
  lateness.catch((error) => fail(error));
  try {
    const endedAt = await over;
    return { startedAt, endedAt, lateP99: quantile(await lateness, 0.99) };
  } finally {
    for (const connection of pool) connection.close();
  }
}

async function openConnection(port, onAnswer, onLost) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  const connection = { request: undefined, isOpen: true, onFree: () => {}, send, close: () => socket.destroy() };
  const read = messageReader((head, body) => {
    const { request } = connection;
    if (!request) {
      socket.destroy(); // not asked for: the 408 with which an unused connection ends
      return;
    }
    connection.request = undefined;
    onAnswer(request, head, body);
    connection.onFree();
  });
  function send(request) {
    connection.request = request;
    request.sentAt = now();
    socket.write(request.bytes);
  }
  socket.on('data', read);
  socket.on('error', onLost);
  socket.on('close', () => {
    connection.isOpen = false;
    if (connection.request) onLost(new Error('the ingress closed a connection in use'));
  });
  return connection;
}

async function sendInTurn(requests, pool) {
  let next = 0;
  for (const connection of pool) {
    connection.onFree = () => {
      if (next < requests.length) connection.send(requests[next++]);
    };
    connection.onFree();
  }
  return [];
}

async function sendAtRate(requests, rate, pool, open) {
  const start = now();
  const lateness = [];
  for (const [index, request] of requests.entries()) {
    const due = start + (index * 1000) / rate;
    for (let early = due - now(); early > 0; early = due - now()) await delay(early);
    let free = pool.find((connection) => connection.isOpen && !connection.request);
    if (!free) pool.push((free = await open()));
    free.send(request);
    lateness.push(request.sentAt - due);
  }
  return lateness;
}

answer({ post });
