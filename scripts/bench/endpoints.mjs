// The endpoints that the relay delivers to: answer 200 at once and remember when each webhook-id came first. The silent
// ones read the request and never answer.
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { headerOf, messageReader } from './http-messages.mjs';
import { answer, now } from './tool.mjs';

const OK = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
const PATH_AT = 'POST /'.length;
const ports = [];
let endpoints = [];
let repeats = 0;
let lastAt = 0;

/** Paths that every port has beside the healthy ones: they fail, never answer, answer just below what counts as slow, or ask for rest. */
const NEIGHBOURS = {
  failing: (socket) => socket.write('HTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\n'),
  hanging: () => {},
  flooded: (socket) => setTimeout(() => socket.write(OK), 900),
  resting: (socket) => socket.write('HTTP/1.1 429 x\r\nretry-after: 600\r\ncontent-length: 0\r\n\r\n'),
};

/** Each URL has a port of its own; with fewer `origins` they share these in turn. */
async function listen({ count, origins = count }) {
  while (ports.length < origins) ports.push(await openPort());
  for (let index = endpoints.length; index < count; index += 1)
    endpoints.push({ receipts: new Map(), url: `http://127.0.0.1:${ports[index % origins]}/${index}` });
  return endpoints.slice(0, count).map(({ url }) => url);
}

async function openPort() {
  const server = createServer({ noDelay: true }, (socket) => {
    const read = messageReader((head) => {
      const path = head.slice(PATH_AT, head.indexOf(' ', PATH_AT));
      if (path in NEIGHBOURS) {
        NEIGHBOURS[path](socket);
        return;
      }
      lastAt = now();
      const { receipts } = endpoints[path];
      const id = headerOf(head, 'webhook-id');
      if (receipts.has(id)) repeats += 1;
      else receipts.set(id, lastAt);
      socket.write(OK);
    });
    socket.on('data', read);
    socket.on('error', () => socket.destroy());
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return server.address().port;
}

/** Counts the requests under way at each: the relay ends one by closing its connection. */
const silent = [];
async function listenSilent({ count }) {
  for (let index = silent.length; index < count; index += 1) {
    const endpoint = { running: 0, most: 0, url: '' };
    const server = createServer({ noDelay: true }, (socket) => {
      let asked = 0;
      const read = messageReader(() => {
        asked += 1;
        endpoint.running += 1;
        endpoint.most = Math.max(endpoint.most, endpoint.running);
      });
      socket.on('data', read);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => (endpoint.running -= asked));
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    endpoint.url = `http://127.0.0.1:${server.address().port}/hook`;
    silent.push(endpoint);
  }
  return silent.slice(0, count).map(({ url }) => url);
}

/** The most requests that were under way at once at any one of them. */
const mostAtOnce = () => Math.max(0, ...silent.map(({ most }) => most));

const received = () => endpoints.reduce((sum, { receipts }) => sum + receipts.size, 0);

function forget() {
  for (const { receipts } of endpoints) receipts.clear();
  repeats = 0;
}

/** Resolves when that many have come, or none for so long, with how many have come by then. */
async function reached({ expected, patienceMs }) {
  for (let since = now(); received() < expected && now() - Math.max(since, lastAt) < patienceMs;) await delay(10);
  return { count: received(), at: now() };
}

/** Waits as `reached` does, and resolves with the receipts. */
async function complete(wanted) {
  await reached(wanted);
  return { receipts: endpoints.map(({ receipts }) => receipts), repeats, lastAt };
}

answer({ listen, listenSilent, mostAtOnce, forget, reached, complete });
