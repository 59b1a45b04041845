import { ListenModule } from './listen.module.js';
import { startWebhooks, type Partner, type Webhooks } from '../webhooks/spec-webhooks.js';

let relay: Webhooks;
let partner: Partner;
beforeAll(async () => {
  relay = await startWebhooks({}, [ListenModule]);
  partner = await relay.aPartner();
});
afterAll(() => relay?.stop());

const problemOf = async (path: string, token?: string, headers: Record<string, string> = {}) => {
  const { status, json } = await relay.ask('GET', path, { ...(token === undefined ? {} : { token }), headers });
  return { status, ...(json as { detail: string }) };
};

describe('GET /listen', () => {
  it('needs an access token of the scope webhooks', async () => {
    expect(await problemOf('/listen')).toMatchObject({ status: 401 });
    const { token } = await relay.aPartner('sessions only', ['sessions']);
    expect(await problemOf('/listen', token)).toMatchObject({ status: 403 });
  });

  it.each([
    ['/listen?type=task.gone', {}, 'type.0: task.gone is no event type. GET /event-types lists the 14 of this relay.'],
    ['/listen?type=task.created&type=', {}, 'type.1: "" is no event type'],
    ['/listen', { 'last-event-id': 'v1.e1.AAAA' }, 'Last-Event-ID is not the id of an event'],
    ['/listen', { 'last-event-id': 'x'.repeat(13_000) }, 'Last-Event-ID is not the id of an event'],
  ])('names what is wrong in %s %j', async (path, headers, detail) => {
    const problem = await problemOf(path, partner.token, headers);
    expect(problem).toMatchObject({ status: 400, detail: expect.stringContaining(detail) });
  });

  it('opens no stream for HEAD', async () => {
    const { status, headers, text } = await relay.ask('HEAD', '/listen', { token: partner.token });
    expect([status, headers['content-type'], text]).toEqual([200, 'text/event-stream', '']);
  });

  it('is limited by partner, and unavailable while Kafka is', async () => {
    const { token } = await relay.aPartner('eager');
    const asked = Array.from({ length: 21 }, () => relay.ask('GET', '/listen', { token }));
    const answers = await Promise.all(asked);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([429, ...Array.from({ length: 20 }, () => 503)]);
    expect(answers.filter(({ headers }) => !(Number(headers['retry-after']) > 0))).toEqual([]);
  }, 20_000);
});
