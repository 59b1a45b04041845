import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

type Key = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

/** A server that gives tokens for Kafka by client credentials, RFC 6749 section 4.4: JWTs whose subject is the client. */
export class TokenServer {
  #given = 0;

  private constructor(
    private readonly server: Server,
    private readonly key: Key,
    private readonly secrets: Readonly<Record<string, string>>,
    private readonly lifeS: number,
    /** The keys that a broker checks the tokens by: the text of a JSON Web Key Set. */
    readonly keys: string,
  ) {
    server.on('request', (request, response) => {
      void this.answer(request.headers.authorization ?? '').then(([status, body]) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      );
    });
  }

  static async open(secrets: Readonly<Record<string, string>>, lifeS: number): Promise<TokenServer> {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] });
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TokenServer(server, privateKey, secrets, lifeS, keys);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/token`;
  }

  /** How many tokens it gave. */
  get given(): number {
    return this.#given;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer(authorization: string): Promise<[number, object]> {
    // RFC 6749 section 2.3.1: both are encoded as a form is, before they are joined.
    const pair = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().split(':');
    const [client = '', secret] = pair.map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
    if (secret === undefined || this.secrets[client] !== secret) return [401, { error: 'invalid_client' }];
    this.#given += 1;
    const claims = new SignJWT({ scope: 'kafka' }).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).setSubject(client);
    const token = await claims.setAudience('kafka').setIssuedAt().setExpirationTime(`${this.lifeS}s`).sign(this.key);
    return [200, { access_token: token, token_type: 'Bearer', expires_in: this.lifeS }];
  }
}
