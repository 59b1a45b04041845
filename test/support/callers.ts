import { App } from './app.js';
import type { Relay } from './relay.js';

/** Headers by which a request is somebody's. */
export type As = Readonly<Record<string, string>>;

export interface Login {
  readonly clientId: string;
  readonly clientSecret: string;
}

export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export const basicOf = ({ clientId, clientSecret }: Login): As => ({
  authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
});

/** Every kind of client of a relay, with each credential that one can have, by names of its own. */
export class Callers {
  private constructor(
    private readonly relay: Relay,
    private readonly operations: App<'operations'>,
    readonly partner: Login,
    readonly operators: Readonly<Record<Role, Login>>,
  ) {}

  static async of(relay: Relay, operations: App<'operations'>): Promise<Callers> {
    const partner = (await relay.stack.client('partner', 'acme')) as Login;
    const made: Partial<Record<Role, Login>> = {};
    for (const role of ROLES) made[role] = await relay.stack.client('operator', `a ${role}`, '--role', role);
    return new Callers(relay, operations, partner, made as Record<Role, Login>);
  }

  async token(login: Login): Promise<As> {
    const answer = await fetch(`${this.relay.ingress.url}/auth/token`, { method: 'POST', headers: basicOf(login) });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    return { authorization: `Bearer ${token}` };
  }

  /** As a page of the console asks. */
  async session(role: Role): Promise<As> {
    const { origin } = new URL(this.operations.url);
    const headers = { 'content-type': 'application/json', 'relay-console': 'acting', origin };
    const body = JSON.stringify(this.operators[role]);
    const answer = await fetch(`${this.operations.url}/session`, { method: 'POST', headers, body });
    return { cookie: answer.headers.get('set-cookie')?.split(';', 1)[0] ?? '', 'relay-console': 'acting', origin };
  }

  /** Status of a request for a link to the partner's portal, and the token that it is traded for. */
  async portal(by: As, url: string, body: object): Promise<{ status: number; as: As }> {
    const made = await post(`${url}/portal/links`, by, body);
    const text = await made.text();
    if (!made.ok) return { status: made.status, as: {} };
    const { hash } = new URL((JSON.parse(text) as { url: string }).url);
    const code = new URLSearchParams(hash.slice(1)).get('code');
    const traded = await post(`${this.relay.ingress.url}/portal/tokens`, {}, { code });
    const { token } = (await traded.json()) as { token: string };
    return { status: made.status, as: { authorization: `Bearer ${token}` } };
  }

  /** A link by an operator. */
  linkOf(role: Role, access: 'read' | 'write'): Promise<{ status: number; as: As }> {
    const body = { partnerId: this.partner.clientId, access };
    return this.portal(basicOf(this.operators[role]), this.operations.url, body);
  }

  /** Every caller by name. */
  async all(): Promise<Map<string, As>> {
    const source = (await this.relay.stack.client('source', 'billing')) as Login;
    const { apiKey } = (await this.relay.stack.client('source', 'plans', '--api-key')) as {
      apiKey: string;
    };
    const found = new Map<string, As>([
      ['nobody', {}],
      ['source key', { 'x-api-key': apiKey }],
    ]);
    const logins = { partner: this.partner, source, ...this.operators };
    for (const [name, login] of Object.entries(logins)) {
      found.set(`${name} secret`, basicOf(login));
      found.set(`${name} token`, await this.token(login));
    }
    for (const role of ROLES) found.set(`${role} session`, await this.session(role));
    const token = found.get('partner token') ?? {};
    const own = async (body: object): Promise<As> => (await this.portal(token, this.relay.ingress.url, body)).as;
    found.set('portal read', await own({ access: 'read' }));
    found.set('portal write', await own({ access: 'write' }));
    found.set('portal write of one', await own({ access: 'write', webhookIds: [crypto.randomUUID()] }));
    found.set('operator portal read', (await this.linkOf('operator', 'read')).as);
    found.set('admin portal write', (await this.linkOf('admin', 'write')).as);
    return found;
  }
}

const post = (url: string, as: As, body: object): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { ...as, 'content-type': 'application/json' }, body: JSON.stringify(body) });
