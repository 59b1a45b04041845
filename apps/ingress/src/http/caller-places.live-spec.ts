import { AccessTokens } from '@relay/access';
import { Controller, Get, Module } from '@nestjs/common';
import { Access, Waits } from '@relay/http';
import { appOfSpec } from './spec-app.js';

const begun = { list: 0, waits: 0 };
let answers: (() => void)[] = [];
const untilAnswered = (): Promise<void> => new Promise((resolve) => answers.push(resolve));

@Controller('things')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
class ThingsController {
  @Get()
  async list(): Promise<object> {
    begun.list += 1;
    await untilAnswered();
    return {};
  }

  @Get('elsewhere')
  @Waits()
  async elsewhere(): Promise<object> {
    begun.waits += 1;
    await untilAnswered();
    return {};
  }
}

@Module({ controllers: [ThingsController] })
class ThingsModule {}

const spec = await appOfSpec([ThingsModule]);

const aPartner = async () => {
  const { clientId } = await spec.clients.createPartner('p');
  const token = await spec.app.get(AccessTokens).issue(clientId, ['webhooks']);
  return (path: string, signal?: AbortSignal) =>
    fetch(`${spec.url}${path}`, {
      headers: { authorization: `Bearer ${token}` },
      ...(signal && { signal }),
    });
};
const settle = () => new Promise((resolve) => setTimeout(resolve, 200));
const answerAll = async (asked: readonly Promise<Response>[]): Promise<number[]> => {
  const timer = setInterval(() => answers.splice(0).forEach((answer) => answer()), 5);
  const all = await Promise.all(asked);
  clearInterval(timer);
  return all.map(({ status }) => status);
};

describe('the requests of one caller', () => {
  beforeEach(() => {
    Object.assign(begun, { list: 0, waits: 0 });
    answers = [];
  });
  afterEach(() => answers.forEach((answer) => answer()));

  it('are handled eight at a time, and nobody waits for those of another', async () => {
    const [one, other] = [await aPartner(), await aPartner()];
    const asked = Array.from({ length: 20 }, () => one('/things'));
    await settle();
    expect(begun.list).toBe(8);
    asked.push(other('/things'));
    await settle();
    expect(begun.list).toBe(9);
    expect(new Set(await answerAll(asked))).toEqual(new Set([200]));
    expect(begun.list).toBe(21);
  });

  it('take no place while they wait for an endpoint', async () => {
    const ask = await aPartner();
    const asked = Array.from({ length: 20 }, () => ask('/things/elsewhere'));
    await settle();
    expect(begun.waits).toBe(20);
    asked.push(ask('/things'));
    await settle();
    expect(begun.list).toBe(1);
    await answerAll(asked);
  });

  it('give their places to others of it when their connections end', async () => {
    const ask = await aPartner();
    const leaving = new AbortController();
    const left = Array.from({ length: 12 }, () => ask('/things', leaving.signal).catch(() => undefined));
    await settle();
    leaving.abort();
    await Promise.all(left);
    await settle();
    // Some that waited begin when the first connections end, before theirs do.
    const before = begun.list;
    const asked = Array.from({ length: 8 }, () => ask('/things'));
    await settle();
    expect(begun.list - before).toBe(8);
    await answerAll(asked);
  });
});
