import { afterEach, describe, expect, it } from '@jest/globals';
import { anEndpoint, aRequest, aSender, closeAll, empty, errorOf, OK, until } from './spec-raw-endpoint.js';

afterEach(closeAll);

describe('HttpConnection', () => {
  it('counts a status whose broken body comes in one piece with it', async () => {
    const endpoint = await anEndpoint((socket) =>
      socket.write('HTTP/1.1 201 x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'),
    );
    expect(errorOf(await aSender().send(aRequest(endpoint.url)))).toBe('201');
    await until(() => endpoint.open === 0);
  });

  it.each([
    ['204 with a length', 'HTTP/1.1 204 x\r\ncontent-length: 40\r\n\r\n'],
    ['304 in chunks', 'HTTP/1.1 304 x\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['204 that is compressed', 'HTTP/1.1 204 x\r\ncontent-encoding: gzip\r\n\r\n'],
    ['an interim answer with a length', `HTTP/1.1 103 x\r\ncontent-length: 40\r\n\r\n${OK}`],
    ['HTTP/1.0 in chunks', 'HTTP/1.0 200 x\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['chunks in chunks', 'HTTP/1.1 200 x\r\ntransfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n'],
  ])('never takes what follows %s for the answer to the next request', async (_, answer) => {
    // The body of the first answer comes late: it would be the answer to the second request on that connection.
    const endpoint = await anEndpoint((socket, nth) =>
      socket.write(nth === 2 ? OK + empty(500) : isFirst() ? answer : empty(500)),
    );
    const isFirst = (): boolean => endpoint.requests.length === 1;
    const sender = aSender();
    await sender.send(aRequest(endpoint.url));
    expect(errorOf(await sender.send(aRequest(endpoint.url)))).toBe('500');
    expect(endpoint.connections).toBe(2);
  });

  it('closes a kept connection on which bytes come that nobody asked for', async () => {
    const endpoint = await anEndpoint((socket) => socket.write(OK, () => setTimeout(() => socket.write(OK), 20)));
    const sender = aSender();
    expect(errorOf(await sender.send(aRequest(endpoint.url)))).toBe('200');
    await until(() => endpoint.open === 0);
  });
});
