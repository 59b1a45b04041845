import fc from 'fast-check';
import { BodyBudget, HeldBody } from './body-reader.js';

const MOST = 100_000;

describe('a body as it arrives', () => {
  it('is the bytes in their order, whatever the pieces, and is counted as what is held', () => {
    const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 9_000 }), { maxLength: 12 });
    fc.assert(
      fc.property(pieces, fc.boolean(), (all, isAnnounced) => {
        const whole = Buffer.concat(all);
        const budget = new BodyBudget(10_000_000);
        const body = new HeldBody(budget, 'c', isAnnounced ? whole.length : 200_000);
        for (const piece of all) expect(body.add(Buffer.from(piece))).toBe('added');
        expect(body.bytes.equals(whole)).toBe(true);
        expect(budget.used).toBeGreaterThanOrEqual(whole.length);
        expect(budget.used).toBeLessThanOrEqual(isAnnounced ? whole.length : Math.max(4_096, 2 * whole.length));
        body.release();
        body.release();
        expect(budget.used).toBe(0);
      }),
    );
  });

  it('keeps none of the pieces: each costs many times its byte', () => {
    const body = new HeldBody(new BodyBudget(10_000_000), 'c', MOST);
    const piece = Buffer.from('x');
    for (let byte = 0; byte < MOST; byte += 1) body.add(piece);
    piece.write('y');
    expect(body.bytes.toString()).toBe('x'.repeat(MOST));
  });

  it('is kept as it came when it came in one piece', () => {
    const piece = Buffer.from('{"id":1}');
    const body = new HeldBody(new BodyBudget(1_000), 'c', piece.length);
    body.add(piece);
    expect(body.bytes.buffer).toBe(piece.buffer);
  });

  it('is announced for as long as it is not buffered, however it ends', () => {
    const begin = (budget: BodyBudget) => {
      expect(budget.announce('c', 200)).toBe(true);
      return new HeldBody(budget, 'c', 200, 200);
    };
    // A quarter of 1,000 has room for 250.
    const budget = new BodyBudget(1_000);
    const whole = begin(budget);
    for (const bytes of [50, 150]) {
      expect(budget.announce('c', 51)).toBe(false);
      whole.add(Buffer.alloc(bytes));
    }
    expect([budget.announce('c', 51), budget.used]).toEqual([false, 200]);
    whole.release();
    const brokenOff = begin(budget);
    brokenOff.add(Buffer.alloc(50));
    brokenOff.release();
    expect([budget.announce('c', 250), budget.used]).toEqual([true, 0]);
  });

  it('ends where it is too long, or where there is no room', () => {
    const long = new HeldBody(new BodyBudget(100_000), 'c', 10);
    expect([long.add(Buffer.alloc(10)), long.add(Buffer.alloc(1))]).toEqual(['added', 'too-long']);
    const budget = new BodyBudget(40_000);
    const large = new HeldBody(budget, 'c', 20_000);
    expect([large.add(Buffer.alloc(5_000)), large.add(Buffer.alloc(10_000))]).toEqual(['added', 'no-room']);
    expect(budget.used).toBe(5_000);
  });
});
