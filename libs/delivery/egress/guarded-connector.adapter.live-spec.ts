import { execFileSync } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, Socket, type Server } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'undici';
import { egressPolicy, type EgressPolicy } from './address.js';
import { EgressDenied, guardedConnector, type ConnectorOptions } from './guarded-connector.adapter.js';
import { nameResolver, type ResolveAll } from './name-resolver.adapter.js';
import { FORBIDDEN_HOSTS } from '@relay/testing';
import { IPV4_SPECIAL, IPV6_SPECIAL, OTHER_FORBIDDEN } from './spec-iana.js';
import { SpecNameServer } from './spec-name-server.js';

// The first address of every special block, and well-known ones inside them.
const KNOWN = `
  127.0.0.1 10.0.0.1 169.254.169.254 100.100.100.200 192.168.0.1 ::ffff:127.0.0.1 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
  64:ff9b:1::a9fe:a9fe 2002:7f00:1:: 2001:0:7f00:1:: fe80::1 ::ffff:8.8.8.8
`;
const FORBIDDEN = [
  ...[...IPV4_SPECIAL, ...IPV6_SPECIAL, ...OTHER_FORBIDDEN].map(([block]) => block.replace(/\/.*/, '')),
  ...KNOWN.trim().split(/\s+/),
];

const policyFor = (port: string, allowCidrs: string[] = []): EgressPolicy =>
  egressPolicy({ ports: ['443', port], allowHttp: true, allowCidrs, denyCidrs: [] });

interface Target {
  readonly hostname: string;
  readonly port?: string;
  readonly protocol?: string;
}

const connect = (
  policy: EgressPolicy,
  { hostname, port = '443', protocol = 'http:' }: Target,
  options?: ConnectorOptions,
): Promise<Socket | Error> =>
  new Promise((resolve) => {
    const host = `${hostname}:${port}`;
    ports.add(port);
    guardedConnector(policy, options)({ hostname, host, protocol, port }, (error, socket) => resolve(error ?? socket));
  });

const codeOf = async (result: Promise<Socket | Error>): Promise<unknown> => {
  const ended = await result; // jest's realm has an Error of its own, so no instanceof
  if (ended instanceof Socket) ended.end().resume();
  return 'code' in ended ? ended.code : 'connected';
};

/** Answers the given addresses, one list per call; the last one stays. */
const answering = (...answers: string[][]): { readonly resolve: ResolveAll; calls: string[] } => {
  const calls: string[] = [];
  const resolve: ResolveAll = (hostname) => {
    const addresses = answers[Math.min(calls.push(hostname), answers.length) - 1] ?? [];
    return Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  };
  return { resolve, calls };
};

const missing: ResolveAll = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
const silent: ResolveAll = () => new Promise(() => {});

// Every TCP client of this process passes here, so this counts what really tries to connect; a suite that ran in it before
// may have left clients that go on trying, at other ports.
const attempts: string[] = [];
const ports = new Set(['443']);
const watch = (message: unknown): void => {
  const socket = Object(message).socket;
  if (socket instanceof Socket)
    socket.on('connectionAttempt', (address: string, port: number) => {
      if (ports.has(String(port))) attempts.push(address);
    });
};

const servers: Server[] = [];
const listen = async (server: Server): Promise<string> => {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? String(address?.port) : '';
  ports.add(port);
  return port;
};

beforeAll(() => {
  subscribe('net.client.socket', watch);
});
afterAll(() => {
  unsubscribe('net.client.socket', watch);
});
afterEach(() => {
  attempts.length = 0;
  for (const server of servers.splice(0)) server.close();
});

describe('guardedConnector', () => {
  it.each(FORBIDDEN)('opens no connection to the literal %s', async (hostname) => {
    const { resolve, calls } = answering([]);
    expect(await connect(policyFor('443'), { hostname }, { resolve })).toBeInstanceOf(EgressDenied);
    expect(await connect(policyFor('443'), { hostname, protocol: 'https:' }, { resolve })).toBeInstanceOf(EgressDenied);
    expect([attempts, calls]).toEqual([[], []]);
  });

  it.each(FORBIDDEN)('opens no connection to a name that resolves to %s', async (address) => {
    const { resolve, calls } = answering([address]);
    const denied = await connect(policyFor('443'), { hostname: 'hooks.example.com' }, { resolve });
    expect(denied).toBeInstanceOf(EgressDenied);
    expect(denied).toHaveProperty('message', 'The host name resolves to an address that is not public.');
    expect([attempts, calls]).toEqual([[], ['hooks.example.com']]);
  });

  it.each([[['1.1.1.1', '10.0.0.1']], [['10.0.0.1', '1.1.1.1']], [['2606:4700::1111', '1.1.1.1', '::1']]])(
    'refuses the mixed answer %j as a whole',
    async (addresses) => {
      const { resolve } = answering(addresses);
      expect(await connect(policyFor('443'), { hostname: 'a.example' }, { resolve })).toBeInstanceOf(EgressDenied);
      expect(attempts).toEqual([]);
    },
  );

  it.each(FORBIDDEN_HOSTS)('reaches no listener by a request to %s', async (host) => {
    let reached = 0;
    const port = await listen(createServer((socket) => (reached += 1) && socket.destroy()));
    const url = `http://${host}:${port}`;
    const client = new Client(url, { connect: guardedConnector(policyFor(port)) });
    await expect(client.request({ path: '/', method: 'POST' })).rejects.toHaveProperty('code', 'EGRESS_DENIED');
    await client.destroy();
    expect([attempts, reached]).toEqual([[], 0]);
  });

  it.each([
    [{ hostname: 'localhost' }],
    [{ hostname: 'metadata.google.internal' }],
    [{ hostname: 'redis' }],
    [{ hostname: 'hooks.example.com', port: '6379' }],
    [{ hostname: '1.1.1.1', port: '22' }],
    [{ hostname: 'hooks.example.com', protocol: 'ftp:' }],
  ])('asks no name server about %j', async (target) => {
    const { resolve, calls } = answering(['1.1.1.1']);
    expect(await connect(policyFor('443'), target, { resolve })).toBeInstanceOf(EgressDenied);
    expect([attempts, calls]).toEqual([[], []]);
  });

  it('connects to the checked address and checks again at the next connect', async () => {
    const port = await listen(createServer((socket) => socket.end()));
    const { resolve, calls } = answering(['127.0.0.1'], ['10.0.0.1']);
    const policy = policyFor(port, ['127.0.0.0/8']);
    const target = { hostname: 'rebinding.example', port };
    expect(await codeOf(connect(policy, target, { resolve }))).toBe('connected');
    expect(await codeOf(connect(policy, target, { resolve }))).toBe('EGRESS_DENIED');
    expect(attempts).toEqual(['127.0.0.1']);
    expect(calls).toHaveLength(2);
  });

  it('treats localhost as the opened loopback address, whatever the resolver answers', async () => {
    const port = await listen(createServer((socket) => socket.end()));
    const { resolve, calls } = answering(['10.0.0.1']);
    const policy = policyFor('443', ['127.0.0.0/8']);
    expect(await codeOf(connect(policy, { hostname: 'localhost', port }, { resolve }))).toBe('connected');
    expect([attempts, calls]).toEqual([['127.0.0.1'], []]);
  });

  it('passes on that a name does not exist', async () => {
    const target = { hostname: 'missing.example' };
    expect(await codeOf(connect(policyFor('443'), target, { resolve: missing }))).toBe('ENOTFOUND');
    expect(await codeOf(connect(policyFor('443'), target, answering([])))).toBe('ENOTFOUND');
  });

  it('gives up on a name server that never answers', async () => {
    const options = { resolve: silent, connectTimeoutMs: 50 };
    const target = { hostname: 'slow.example', protocol: 'https:' };
    expect(await codeOf(connect(policyFor('443'), target, options))).toBe('UND_ERR_CONNECT_TIMEOUT');
  });
});

describe('guardedConnector behind DNS64', () => {
  let names: SpecNameServer;
  let resolve: ResolveAll;
  const v6 = (last: string): string => `0064:ff9b:0000:0000:0000:0000:${last}`;
  beforeAll(async () => {
    names = await SpecNameServer.open({
      'v4-only.example': ['127.0.0.1', v6('7f00:0001')],
      'metadata.example': ['127.0.0.1', v6('a9fe:a9fe')],
      'only-64.example': [v6('a9fe:a9fe')],
    });
    resolve = nameResolver({ servers: [names.address] });
  });
  afterAll(() => names.close());

  it('delivers to an IPv4-only endpoint for which the name server synthesises an IPv6 address', async () => {
    const port = await listen(createServer((socket) => socket.end()));
    const policy = policyFor(port, ['127.0.0.0/8']);
    expect(await codeOf(connect(policy, { hostname: 'v4-only.example', port }, { resolve }))).toBe('connected');
    expect(attempts).toEqual(['127.0.0.1']);
  });

  it.each([
    ['metadata.example', ['127.0.0.0/8']],
    ['metadata.example', ['127.0.0.0/8', '64:ff9b::/96']],
    ['only-64.example', ['64:ff9b::/96']],
    ['only-64.example', ['::/0']],
  ])(
    'opens no connection to the metadata service by %s, though EGRESS_ALLOW_CIDRS is %j',
    async (hostname, allowCidrs) => {
      const port = await listen(createServer((socket) => socket.end()));
      const denied = await connect(policyFor(port, [...allowCidrs]), { hostname, port }, { resolve });
      expect(denied).toBeInstanceOf(EgressDenied);
      expect(attempts).toEqual([]);
    },
  );
});

describe('guardedConnector at a name of which one family is not answered', () => {
  const NO_WAY = 'ff02:0000:0000:0000:0000:0000:0000:0001'; // TCP to a multicast address fails on every machine
  const policyAt = (port: string): EgressPolicy => policyFor(port, ['127.0.0.0/8', 'ff02::1/128']);
  const names = {
    'hang-aaaa.example': ['127.0.0.1', NO_WAY],
    'hang-a.example': ['10.0.0.1', '0000:0000:0000:0000:0000:0000:0000:0001'],
    'late-a.example': ['127.0.0.1', NO_WAY],
    'late-a.private.example': ['10.0.0.1', NO_WAY],
  };
  let all: SpecNameServer[];
  beforeAll(async () => {
    all = await Promise.all([1, 2, 3].map(() => SpecNameServer.open(names)));
  });
  afterAll(() => all.forEach((server) => server.close()));
  const by = (count: number) => ({
    resolve: nameResolver({ servers: all.slice(0, count).map(({ address }) => address) }),
  });

  it.each([1, 2, 3])('connects by the other one, whatever %i name servers leave out', async (count) => {
    const port = await listen(createServer((socket) => socket.end()));
    const target = { hostname: 'hang-aaaa.example', port };
    expect(await codeOf(connect(policyAt(port), target, by(count)))).toBe('connected');
    expect(attempts).toEqual(['127.0.0.1']);
  });

  it('checks the addresses of the other one', async () => {
    const port = await listen(createServer((socket) => socket.end()));
    const denied = await connect(policyAt(port), { hostname: 'hang-a.example', port }, by(1));
    expect(denied).toBeInstanceOf(EgressDenied);
    expect(attempts).toEqual([]);
  });

  it('waits for the late family and checks it if the machine has no route to the first', async () => {
    const port = await listen(createServer((socket) => socket.end()));
    expect(await codeOf(connect(policyAt(port), { hostname: 'late-a.example', port }, by(1)))).toBe('connected');
    expect(attempts).toEqual(['ff02::1', '127.0.0.1']);
    const hostname = 'late-a.private.example';
    expect(await connect(policyAt(port), { hostname, port }, by(1))).toBeInstanceOf(EgressDenied);
    expect(attempts).toEqual(['ff02::1', '127.0.0.1', 'ff02::1']);
  });
});

describe('guardedConnector over TLS', () => {
  const name = 'hooks.example.com';
  let pem: string;
  beforeAll(() => {
    const subject = ['-subj', '/CN=test', '-addext', `subjectAltName=DNS:${name}`, '-days', '1'];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', '-'];
    pem = execFileSync('openssl', ['req', '-x509', ...key, ...subject], { encoding: 'utf8', stdio: 'pipe' });
  });

  const serve = (options: TlsOptions = {}): Promise<string> =>
    listen(createTlsServer({ key: pem, cert: pem, ...options }).on('tlsClientError', () => {}));

  const code = async (port: string, hostname: string, trusted: boolean): Promise<unknown> => {
    const { resolve } = answering(['127.0.0.1']);
    const options = trusted ? { resolve, ca: pem } : { resolve };
    return codeOf(connect(policyFor(port, ['127.0.0.0/8']), { hostname, port, protocol: 'https:' }, options));
  };

  it('offers the name as SNI and HTTP/1.1 only, and accepts its trusted certificate over TLS 1.2 or later', async () => {
    const server = createTlsServer({ key: pem, cert: pem, ALPNProtocols: ['h2', 'http/1.1'] });
    const accepted = once(server, 'secureConnection');
    expect(await code(await listen(server), name, true)).toBe('connected');
    expect(await accepted).toEqual([expect.objectContaining({ servername: name, alpnProtocol: 'http/1.1' })]);
    expect(await code(await serve({ maxVersion: 'TLSv1.2' }), name, true)).toBe('connected');
  });

  it('refuses a self-signed certificate, another name and TLS 1.1', async () => {
    const port = await serve();
    expect(await code(port, name, false)).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
    expect(await code(port, 'other.example.com', true)).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    const old = await serve({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
    expect(await code(old, name, true)).toMatch(/^(ERR_SSL_|EPROTO|ECONNRESET)/);
  });
});
