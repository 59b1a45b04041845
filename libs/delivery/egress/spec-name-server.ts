import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

const A = 1;
const AAAA = 28;
/** A record that makes a name an alias (CNAME) of itself, so it has no addresses. */
export const ALIAS = 'CNAME';

/**
 * Prefix of a name for which the server misbehaves, for one record type or both: no response (`hang`), SERVFAIL (`fail`), or
 * a response only when the question is asked again (`late`).
 */
const TROUBLE = /^(hang|fail|late)(?:-(a|aaaa))?(?:-\d+)?\./;

/**
 * A real name server for specs. It answers from the given table, and NXDOMAIN for all other names. A prefix of a name makes
 * it misbehave.
 */
export class SpecNameServer {
  /** Type and name in each query packet that the server received. */
  readonly asked: string[] = [];
  readonly #held = new Map<string, () => void>();

  private constructor(
    private readonly socket: Socket,
    readonly records: Record<string, readonly string[]>,
    readonly trouble: string | undefined,
  ) {
    socket.on('message', (query, { port, address }) => {
      const [question, kind, answer] = this.#answer(query);
      this.asked.push(question);
      this.#held.get(question)?.();
      const send = (): void => socket.send(answer, port, address);
      if (kind === 'late') this.#held.set(question, send);
      else if (kind !== 'hang') send();
    });
  }

  /** @param trouble how the server misbehaves for every name */
  static async open(records: Record<string, readonly string[]> = {}, trouble?: string): Promise<SpecNameServer> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new SpecNameServer(socket, records, trouble);
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  close(): void {
    this.socket.close();
  }

  // RFC 1035 section 4: a header, one question, and answers whose names are pointers to the name in the question.
  #answer(query: Buffer): [question: string, trouble: string | undefined, answer: Buffer] {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join('.').toLowerCase();
    const type = query.readUInt16BE(at + 1);
    const known = this.records[name];
    const [, kind, only] = TROUBLE.exec(name) ?? [];
    const trouble = only === undefined || (only === 'a') === (type === A) ? (kind ?? this.trouble) : undefined;
    const answers = (known ?? []).filter((of) => of === ALIAS || type === (of.includes(':') ? AAAA : A));
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(trouble === 'fail' ? 0x8182 : known === undefined ? 0x8183 : 0x8180, 2);
    header.writeUInt16BE(answers.length, 6);
    header.writeUInt16BE(0, 8);
    header.writeUInt16BE(0, 10);
    const records = answers.map((address) => record(type, address));
    const answer = Buffer.concat([header, query.subarray(12, at + 5), ...records]);
    return [`${type === A ? 'A' : 'AAAA'} ${name}`, trouble, answer];
  }
}

function record(type: number, address: string): Buffer {
  if (address === ALIAS) return Buffer.from([0xc0, 0x0c, 0, 5, 0, 1, 0, 0, 0, 0, 0, 2, 0xc0, 0x0c]); // of itself
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
