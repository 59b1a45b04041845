import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

const A = 1;
const AAAA = 28;

/** A real name server for specs: answers from the given table, NXDOMAIN for the rest, nothing for names with `hang`. */
export class SpecNameServer {
  /** Names asked for, once per query packet. */
  readonly asked: string[] = [];

  private constructor(
    private readonly socket: Socket,
    readonly records: Record<string, readonly string[]>,
  ) {
    socket.on('message', (query, { port, address }) => {
      const answer = this.#answer(query);
      if (answer !== undefined) socket.send(answer, port, address);
    });
  }

  static async open(records: Record<string, readonly string[]> = {}): Promise<SpecNameServer> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new SpecNameServer(socket, records);
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  close(): void {
    this.socket.close();
  }

  // RFC 1035 section 4: header, one question, answers whose name points at the question's.
  #answer(query: Buffer): Buffer | undefined {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join('.').toLowerCase();
    this.asked.push(name);
    if (name.includes('hang')) return undefined;
    const type = query.readUInt16BE(at + 1);
    const known = this.records[name];
    const answers = (known ?? []).filter((address) => type === (address.includes(':') ? AAAA : A));
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(known === undefined ? 0x8183 : 0x8180, 2);
    header.writeUInt16BE(answers.length, 6);
    header.writeUInt16BE(0, 8);
    header.writeUInt16BE(0, 10);
    return Buffer.concat([header, query.subarray(12, at + 5), ...answers.map((address) => record(type, address))]);
  }
}

function record(type: number, address: string): Buffer {
  const data =
    type === A
      ? Buffer.from(address.split('.').map(Number))
      : Buffer.from(
          address
            .split(':')
            .map((word) => word.padStart(4, '0'))
            .join(''),
          'hex',
        ); // written in full
  const fixed = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]); // time to live 0
  return Buffer.concat([fixed, data]);
}
