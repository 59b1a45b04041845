import { AccessTokens } from '@relay/access';
import { SessionsModule } from '../sessions/sessions.module.js';
import { appOfSpec } from './spec-app.js';

const spec = await appOfSpec([SessionsModule], { RATE_LIMIT: '5' });

const aPartner = async (): Promise<() => Promise<Response>> => {
  const { clientId } = await spec.clients.createPartner('p');
  const token = await spec.app.get(AccessTokens).issue(clientId, ['sessions']);
  return () => fetch(`${spec.url}/auth/session/absent`, { headers: { authorization: `Bearer ${token}` } });
};

describe('the quota of a partner', () => {
  it('is told with every answer, errors too, and what goes beyond is refused until it is renewed', async () => {
    const ask = await aPartner();
    const answers: Response[] = [];
    for (let index = 0; index < 7; index += 1) answers.push(await ask());
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 429, 429]);
    expect(answers.map(({ headers }) => headers.get('ratelimit-policy'))).toEqual(
      answers.map(() => '"partner";q=5;w=60'),
    );
    expect(answers.map(({ headers }) => /^"partner";r=(\d);t=\d+$/.exec(headers.get('ratelimit') ?? '')?.[1])).toEqual([
      '4',
      '3',
      '2',
      '1',
      '0',
      '0',
      '0',
    ]);
    const refused = answers.at(-1);
    const waitS = Number(refused?.headers.get('retry-after'));
    expect(waitS).toBeGreaterThan(50);
    expect(refused?.headers.get('ratelimit')).toBe(`"partner";r=0;t=${waitS}`);
    expect(await refused?.json()).toMatchObject({ title: 'Too many requests' });
  });

  it('is its own', async () => {
    expect((await (await aPartner())()).status).toBe(404);
  });
});
