// One question and its answer over TCP to 127.0.0.1.
import { connect } from 'node:net';

/** Sends bytes and collects the answer until `parse` returns a value; undefined after a second. */
export function ask(port, request, parse) {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    let answer = Buffer.alloc(0);
    const finish = (result) => {
      socket.destroy();
      done(result);
    };
    socket.setTimeout(1000, () => finish(undefined));
    socket.on('error', () => finish(undefined));
    socket.on('close', () => finish(undefined));
    socket.on('data', (chunk) => {
      answer = Buffer.concat([answer, chunk]);
      const result = parse(answer);
      if (result !== undefined) finish(result);
    });
  });
}
