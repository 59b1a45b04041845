import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { judge, type Received } from './verify.js';

const NOW = Date.parse('2030-01-01T10:00:00Z');
const secret = `whsec_${randomBytes(32).toString('base64')}`;
const body = '{"id":"1","amount":1.10}';

function signed(changes: Partial<Received> = {}, at = NOW, sent = body): Received {
  const signature = new Webhook(secret).sign('msg_1', new Date(at), sent);
  return { id: 'msg_1', timestamp: String(at / 1_000), signature, body: sent, secret, ...changes };
}

it('judge takes a delivery that the relay signed, even beside the signature of an older secret', async () => {
  const given = signed();
  expect(await judge(given, NOW)).toEqual({ kind: 'genuine', words: expect.stringContaining('new enough') });
  expect(await judge({ ...given, signature: `v1,AAAA ${given.signature}` }, NOW)).toMatchObject({ kind: 'genuine' });
});

it('judge says that a delivery is too old', async () => {
  expect(await judge(signed(), NOW + 400_000)).toEqual({
    kind: 'genuine',
    words: expect.stringContaining('400 s ago'),
  });
});

it.each<[string, Partial<Received>, string]>([
  ['without a header', { id: '' }, 'A header is missing'],
  ['with another text as secret', { secret: 'whsec_x' }, 'The secret is invalid'],
  ['with a time in words', { timestamp: '2030-01-01' }, 'The timestamp is invalid'],
  ['with a signature of another scheme', { signature: 'sha256=abc' }, 'The signature has no v1'],
  ['with a line break at its end', { body: `${body}\n` }, 'The body was changed'],
  ['with another id', { id: 'msg_2' }, 'No signature matches'],
  ['with another secret', { secret: `whsec_${randomBytes(32).toString('base64')}` }, 'No signature matches'],
])('judge says why a delivery %s does not match', async (_, changes, title) => {
  expect(await judge(signed(changes), NOW)).toMatchObject({ kind: 'false', title });
});

it('judge sees that a body was written anew', async () => {
  const compact = '{"id":"1","amount":1.1}';
  const given = signed({}, NOW, compact);
  expect(await judge({ ...given, body: '{ "id": "1", "amount": 1.10 }' }, NOW)).toMatchObject({
    words: expect.stringContaining('parsed and written again'),
  });
});
