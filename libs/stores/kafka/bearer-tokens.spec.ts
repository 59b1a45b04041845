import { createHash, createHmac } from 'node:crypto';
import { bearerTokens } from './kafka-client.adapter.js';

const SECRET = 'an-access-key';
const REGION = 'eu-central-1';
const AWS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: SECRET, AWS_SESSION_TOKEN: 'a-session' };

describe('tokens for Amazon MSK', () => {
  // eslint-disable-next-line node/no-process-env -- where AWS's SDK finds a role's credentials first
  const environment = process.env;
  beforeEach(() => Object.assign(environment, AWS));
  afterEach(() => {
    for (const name of Object.keys(AWS)) delete environment[name];
  });

  it('are addresses that the role signed for its region, by Signature Version 4', async () => {
    const { value } = await bearerTokens({ KAFKA_SASL_AWS_REGION: REGION })();
    const url = new URL(Buffer.from(value, 'base64url').toString());
    const said = Object.fromEntries(url.searchParams);
    expect(url.host).toBe(`kafka.${REGION}.amazonaws.com`);
    expect(said).toMatchObject({
      Action: 'kafka-cluster:Connect',
      'X-Amz-Expires': '900',
      'X-Amz-Security-Token': 'a-session',
      'X-Amz-SignedHeaders': 'host',
    });
    expect(said['X-Amz-Signature']).toBe(signatureOf(url));
  });

  it('serve all logins of the first half of their life', async () => {
    const token = bearerTokens({ KAFKA_SASL_AWS_REGION: REGION });
    expect(await token()).toEqual(await token());
  });
});

/** As the broker computes it, from https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
function signatureOf(url: URL): string {
  const date = url.searchParams.get('X-Amz-Date') ?? '';
  const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
  const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest();
  // The library adds its name for AWS's own statistics after the signature.
  const query = [...url.searchParams]
    .filter(([name]) => !['X-Amz-Signature', 'User-Agent'].includes(name))
    .map((pair) => pair.map((part) => encodeURIComponent(part)).join('='))
    .toSorted()
    .join('&');
  const request = ['GET', '/', query, `host:${url.host}\n`, 'host', sha('')].join('\n');
  const scope = [date.slice(0, 8), REGION, 'kafka-cluster', 'aws4_request'];
  const key = scope.reduce<Buffer | string>(hmac, `AWS4${SECRET}`);
  return hmac(key, ['AWS4-HMAC-SHA256', date, scope.join('/'), sha(request)].join('\n')).toString('hex');
}
