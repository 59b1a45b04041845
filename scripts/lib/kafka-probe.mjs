// Asks a broker for its identity without a client library: the scripts run before anything is installed.
import { ask } from './tcp.mjs';

/** The cluster id that a broker on this port reports once a broker of it is registered, else undefined. */
export const clusterOf = (port) =>
  ask(port, metadataRequest(), (answer) => {
    if (answer.length < 4 || answer.length < 4 + answer.readInt32BE(0)) return undefined;
    return parseMetadata(answer);
  });

// Kafka protocol, Metadata v4: int16 key 3, int16 version, int32 correlation id, client id (here null), no topics, no creation.
function metadataRequest() {
  const request = Buffer.alloc(19);
  request.writeInt32BE(15, 0);
  request.writeInt16BE(3, 4);
  request.writeInt16BE(4, 6);
  request.writeInt32BE(1, 8);
  request.writeInt16BE(-1, 12);
  request.writeInt32BE(0, 14);
  return request;
}

// Its answer: length, correlation id, throttle time, brokers [int32 id, string host, int32 port, string? rack], string? cluster id.
function parseMetadata(answer) {
  let at = 12;
  const text = () => {
    const length = answer.readInt16BE(at);
    at += 2 + Math.max(length, 0);
    return length < 0 ? '' : answer.toString('utf8', at - length, at);
  };
  const brokers = answer.readInt32BE(at);
  at += 4;
  for (let index = 0; index < brokers; index += 1) {
    at += 4;
    text();
    at += 4;
    text();
  }
  return brokers > 0 ? text() : '';
}
