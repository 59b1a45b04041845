const TIMEOUT_MS = 15_000;

export type SourceProof = { readonly clientId: string; readonly clientSecret: string } | { readonly apiKey: string };

export type Sent = { readonly status: 'accepted' | 'duplicate' } | { readonly status: 'refused'; readonly why: string };

export class Ingress {
  private constructor(
    private readonly url: string,
    private readonly headers: Readonly<Record<string, string>>,
  ) {}

  /** @throws Error when the ingress does not answer, or does not know the client */
  static async open(url: string, proof: SourceProof): Promise<Ingress> {
    if ('apiKey' in proof) return new Ingress(url, { 'x-api-key': proof.apiKey });
    const basic = Buffer.from(`${proof.clientId}:${proof.clientSecret}`).toString('base64');
    const response = await ask(`${url}/auth/token`, { authorization: `Basic ${basic}` });
    const token = await read(response);
    if (!response.ok || typeof token['access_token'] !== 'string')
      throw new Error(`The ingress gives ${proof.clientId} no token (${faultOf(response, token)})`);
    return new Ingress(url, { authorization: `Bearer ${token['access_token']}` });
  }

  async send(envelope: string): Promise<Sent> {
    const headers = { ...this.headers, 'content-type': 'application/json' };
    const response = await ask(`${this.url}/deliveries`, headers, envelope);
    const said = await read(response);
    if (response.status !== 202) return { status: 'refused', why: faultOf(response, said) };
    return { status: said['status'] === 'duplicate' ? 'duplicate' : 'accepted' };
  }
}

async function ask(url: string, headers: Record<string, string>, body?: string): Promise<Response> {
  const request = { method: 'POST', headers, ...(body === undefined ? {} : { body }) };
  try {
    return await fetch(url, { ...request, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (cause) {
    const { origin } = new URL(url);
    const reason = cause instanceof Error ? reasonOf(cause) : String(cause);
    throw new Error(`The ingress does not answer at ${origin} (${reason}): start it, or give --url`, { cause });
  }
}

/** fetch reports only `fetch failed`; the cause has the reason, and no message when several addresses were tried. */
function reasonOf(error: Error): string {
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}

async function read(response: Response): Promise<Record<string, unknown>> {
  try {
    const value: unknown = await response.json();
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** The message of problem+json (RFC 9457) or of the token endpoint (RFC 6749 section 5.2). */
function faultOf(response: Response, said: Record<string, unknown>): string {
  const retryAfter = response.headers.get('retry-after');
  const words = [said['detail'] ?? said['error'], retryAfter === null ? undefined : `try again in ${retryAfter} s`];
  return [`HTTP ${response.status}`, ...words.filter((word) => typeof word === 'string')].join(': ');
}
