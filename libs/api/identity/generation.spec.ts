import fc from 'fast-check';
import { generationAt, isLiveGeneration, withNewSecret, withoutTokens } from './client.js';

interface Secrets {
  readonly secretHashes: string[];
  readonly generation: number;
  readonly disabled?: boolean;
}

const STEPS = {
  rotate: (client: Secrets, hash: string) => withNewSecret(client, hash, 1),
  'rotate --end-tokens': (client: Secrets, hash: string) => withNewSecret(client, hash, 0),
  disable: (client: Secrets) => withoutTokens(client),
} as const;
type Step = keyof typeof STEPS;

/** Whether a token got by the newest secret is alive after these steps. */
const lives = (...steps: Step[]): boolean => {
  const before: Secrets = { secretHashes: ['s0'], generation: 0 };
  const after = steps.reduce<Secrets>((client, step, index) => STEPS[step](client, `s${index + 1}`), before);
  return isLiveGeneration(after, generationAt(before, 0));
};

describe('a token', () => {
  it.each<[boolean, Step[]]>([
    [true, []],
    [true, ['rotate']],
    [false, ['rotate', 'rotate']],
    [false, ['rotate --end-tokens']],
    [false, ['disable']],
    [false, ['rotate', 'disable']],
    [false, ['disable', 'rotate']],
  ])('is alive: %s, after %j', (expected, steps) => {
    expect(lives(...steps)).toBe(expected);
  });

  it('is alive exactly while the secret it was got by is, unless its client was disabled since', () => {
    const step = fc.constantFrom<Step>('rotate', 'rotate --end-tokens', 'disable');
    fc.assert(
      fc.property(fc.array(step), fc.array(step), fc.boolean(), (before, after, byOlder) => {
        let named = 0;
        const run = (client: Secrets, steps: readonly Step[]): Secrets =>
          steps.reduce((now, name) => STEPS[name](now, `s${(named += 1)}`), client);
        const then = run({ secretHashes: ['s0'], generation: 0 }, before);
        const place = byOlder ? then.secretHashes.length - 1 : 0;
        const later = run(then, after);
        const isAlive = later.secretHashes.includes(then.secretHashes[place] ?? '') && !after.includes('disable');
        expect(isLiveGeneration(later, generationAt(then, place))).toBe(isAlive);
        // What the secrets of now get is alive, by a process that still knows those of then as well.
        for (const at of later.secretHashes.keys())
          for (const known of [then, later]) expect(isLiveGeneration(known, generationAt(later, at))).toBe(true);
      }),
    );
  });
});
