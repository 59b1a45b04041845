import { array, check, constantFrom, integer, property, tuple } from 'fast-check';
import { OriginTurns, type Asker, KnownOrigins, originOf } from './origin-turns.js';

const NOW = 1_000_000;
const of = (endpoint: string, id = 'w'): Asker => ({ endpoint, id });
const A = of('a https://host');
const B = of('b https://host');

describe('OriginTurns', () => {
  it('are one a second at an origin, and others at another origin', () => {
    const turns = new OriginTurns();
    expect([turns.take(A, NOW), turns.take(B, NOW), turns.take(of('a https://other'), NOW)]).toEqual([
      NOW,
      NOW + 1_000,
      NOW,
    ]);
    expect(turns.take(A, NOW + 5_000)).toBe(NOW + 5_000);
  });

  it('go round by partner: a new one waits for one turn of each other, however often those ask', () => {
    const turns = new OriginTurns();
    const others = Array.from({ length: 20 }, (_, n) => of(`flood-${n} https://host`));
    for (let at = NOW; at < NOW + 60_000; at += 10) for (const other of others) turns.take(other, at);
    const turnAt = turns.take(B, NOW + 60_000) ?? Infinity;
    expect(turnAt - (NOW + 60_000)).toBeLessThanOrEqual((others.length + 1) * 1_000);
    let before = 0;
    for (let at = NOW + 60_000; at < turnAt; at += 10)
      for (const other of others) if ((turns.take(other, at) ?? Infinity) < turnAt) before += 1;
    expect(before).toBe(0);
  });

  it('go round by webhook: one with a thousand deliveries takes none that a sibling waits for', () => {
    const turns = new OriginTurns();
    const flood = of(A.endpoint, 'flood');
    const siblings = Array.from({ length: 13 }, (_, n) => of(A.endpoint, `sibling-${n}`));
    let due: [at: number, webhook: Asker][] = [];
    const ran = new Map<string, number[]>();
    for (let n = 0; n < 1_000; n += 1) due.push([NOW, flood]);
    for (const [n, sibling] of siblings.entries()) due.push([NOW + 20_000 + 77 * n, sibling]);
    const until = NOW + 40_000;
    for (;;) {
      due = due.toSorted(([a], [b]) => a - b);
      const [now, webhook] = due.shift() ?? [until, A];
      if (now >= until) break;
      const turnAt = turns.take(webhook, now);
      if (turnAt === undefined) due.push([turns.askAgainAt(webhook, now, 0.5), webhook]);
      else ran.set(webhook.id, [...(ran.get(webhook.id) ?? []), turnAt]);
    }
    for (const { id } of siblings) expect(ran.get(id)?.[0]).toBeLessThanOrEqual(NOW + 20_000 + 17_000);
    expect(ran.get('flood')?.length).toBeGreaterThanOrEqual(15);
  });

  it('have a delivery that got none ask again when its endpoint has one: one delivery a turn', () => {
    const turns = new OriginTurns();
    const C = of('c https://host');
    const asks = (webhook: Asker): number => turns.askAgainAt(webhook, NOW, 0);
    turns.take(A, NOW);
    expect([asks(A), asks(A)]).toEqual([NOW + 1_000, NOW + 2_000]);
    turns.take(B, NOW);
    turns.take(C, NOW);
    expect([asks(C), asks(C)]).toEqual([NOW + 2_000, NOW + 5_000]);
    expect([turns.isBehind(A, NOW + 1_999), turns.isBehind(A, NOW + 2_000)]).toEqual([true, false]);
  });

  it('have at most some thirty of ten thousand deliveries ask in a second, each within ten minutes', () => {
    const turns = new OriginTurns();
    turns.take(A, NOW);
    const times = Array.from({ length: 10_000 }, (_, n) => turns.askAgainAt(A, NOW, n / 10_000));
    expect(Math.max(...times)).toBeLessThanOrEqual(NOW + 600_000);
    const bySecond = new Map<number, number>();
    for (const at of times) bySecond.set(Math.floor(at / 1_000), (bySecond.get(Math.floor(at / 1_000)) ?? 0) + 1);
    expect(Math.max(...bySecond.values())).toBeLessThanOrEqual(35);
  });

  it('are forgotten with their origin, and when nobody asks', () => {
    const turns = new OriginTurns();
    for (const webhook of [A, B, of('a https://other')]) turns.take(webhook, NOW);
    turns.prove('https://host');
    expect([...turns.endpoints()]).toEqual(['a https://other']);
    turns.forget(NOW + 60_000);
    expect([...turns.endpoints()]).toHaveLength(1);
    turns.forget(NOW + 60_001);
    expect([...turns.endpoints()]).toEqual([]);
  });

  it('are a second apart, one ahead of each endpoint, and no later than one for each, whoever asks when', () => {
    const step = tuple(constantFrom('a', 'b', 'c', 'd'), integer({ min: 0, max: 3_000 }));
    const run = check(
      property(array(step, { maxLength: 80 }), (steps) => {
        const turns = new OriginTurns();
        const ahead = new Map<string, number>();
        let [now, last] = [NOW, -Infinity];
        return steps.every(([partner, later]) => {
          now += later;
          const at = turns.take(of(`${partner} https://host`), now);
          if (at === undefined) return (ahead.get(partner) ?? 0) > now;
          const isApart = at - last >= 1_000 && at >= now && at <= now + 4_000;
          const isOnlyOne = (ahead.get(partner) ?? 0) <= now;
          ahead.set(partner, (last = at));
          return isApart && isOnlyOne;
        });
      }),
    );
    expect(run).toMatchObject({ failed: false });
  });
});

const DAY_MS = 86_400_000;

describe('KnownOrigins', () => {
  it('keeps an origin for thirty days after its 2xx, and reports it once an hour', () => {
    const known = new KnownOrigins();
    expect([known.has('o', 0), known.isReportDue('o', 0)]).toEqual([false, true]);
    known.know('o', 1);
    expect([known.has('o', 1), known.isReportDue('o', 3_600_000)]).toEqual([true, false]);
    expect([known.isReportDue('o', 3_600_001), known.has('o', 30 * DAY_MS), known.has('o', 30 * DAY_MS + 1)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('reports the next 2xx after a failed report, and knows the origin meanwhile', () => {
    const known = new KnownOrigins();
    known.knowUnreported('o', 30 * DAY_MS);
    expect([known.has('o', 30 * DAY_MS), known.isReportDue('o', 30 * DAY_MS)]).toEqual([true, true]);
  });

  it('is bounded: the origin that was reported longest ago is evicted', () => {
    const known = new KnownOrigins(2);
    for (const origin of ['a', 'b', 'a', 'c']) known.know(origin, 1);
    expect(['a', 'b', 'c'].map((origin) => known.has(origin, 1))).toEqual([true, false, true]);
  });
});

it('reads the origin of an endpoint', () => {
  expect(originOf('partner https://a.example:8443')).toBe('https://a.example:8443');
});
