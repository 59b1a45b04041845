import { createHash, randomBytes } from 'node:crypto';
import type { FailureLimiter } from '@relay/access';
import type { Keyring } from '@relay/keyring';
import { globalKey } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { cookiesOf } from '../access/console-sessions.adapter.js';
import { ForeignAnswer, type Identified, type IdentityProvider } from './identity-provider.adapter.js';
import { refusalOf, SignInRefused } from './sign-in-refused.js';

/** Time in ms for which a person may take to sign in. */
const LIFE_MS = 10 * 60_000;
const CONTEXT = ['sign-in'];

/** A place in the console, as its fragment names it. */
const Place = z.string().regex(/^\/[\w/?=&%.:,+*!'()~-]{0,500}$/);

/** A sign-in that a browser has begun. The cookie of the browser contains it, encrypted. */
const Begun = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  place: Place.optional(),
  endsAt: z.number(),
});

/**
 * The sign-ins of people at the identity provider. Nothing is stored before the provider has identified somebody. Then the
 * state of the sign-in is kept until its cookie has expired, so that no answer of the provider opens two sessions.
 */
export class SignIns {
  /** @param provider undefined if the settings name none */
  constructor(
    readonly provider: IdentityProvider | undefined,
    private readonly keyring: Keyring,
    private readonly redis: Redis,
    private readonly failures: FailureLimiter,
  ) {}

  /**
   * Returns the address to which the browser goes, and the cookie that it needs when it comes back.
   * @param place where the console opens afterwards; ignored unless it is a place of the console
   * @throws SignInRefused if the provider does not answer
   */
  async begin(provider: IdentityProvider, place: unknown): Promise<{ readonly url: string; readonly cookie: string }> {
    const { url, proof } = await provider.begin().catch((error: unknown) => {
      throw refusalOf(error, provider.name);
    });
    const begun = { ...proof, place: Place.safeParse(place).data, endsAt: Date.now() + LIFE_MS };
    const sealed = this.keyring.encrypt(JSON.stringify(begun), CONTEXT, randomBytes(12));
    return { url, cookie: cookieOf(provider, sealed, LIFE_MS / 1_000) };
  }

  /**
   * Completes the sign-in that this browser has begun.
   * @param answer query of the callback
   * @param browser its cookies, and its address, by which failures are counted
   * @throws SignInRefused
   */
  async complete(
    provider: IdentityProvider,
    answer: URLSearchParams,
    browser: { readonly cookie: string | undefined; readonly address: string },
  ): Promise<Identified & { readonly place: string | undefined }> {
    const begun = this.#open(cookiesOf(browser.cookie, cookieName(provider))[0] ?? '');
    if (begun === undefined)
      throw new SignInRefused(403, 'This browser began no sign-in within the last ten minutes.', 'not begun here');
    const key = `${browser.address} sign-in`;
    if ((await this.failures.blockedFor(key)) !== undefined)
      throw new SignInRefused(429, 'Too many sign-ins have failed. Try again in a minute.', 'too many failures');
    try {
      const person = await provider.complete(answer, begun);
      const hash = createHash('sha256').update(begun.state).digest('base64url');
      const isFirst = await this.redis.set(globalKey('sign-in', hash), '1', 'PX', LIFE_MS, 'NX');
      if (isFirst === null) throw new ForeignAnswer('the sign-in was completed before');
      return { ...person, place: begun.place };
    } catch (error) {
      await this.failures.fail(key);
      throw refusalOf(error, provider.name);
    }
  }

  #open(sealed: string): z.infer<typeof Begun> | undefined {
    try {
      const begun = Begun.parse(JSON.parse(this.keyring.decrypt(sealed, CONTEXT)));
      return begun.endsAt > Date.now() ? begun : undefined;
    } catch {
      return undefined;
    }
  }
}

export const isOverTls = ({ consoleUrl }: IdentityProvider): boolean => consoleUrl.startsWith('https:');
const cookieName = (provider: IdentityProvider): string =>
  isOverTls(provider) ? '__Host-relay_sign_in' : 'relay_sign_in';

/**
 * Returns the `Set-Cookie` header of a sign-in, which an age of 0 ends. With `SameSite=Strict`, the browser would not send the
 * cookie if the provider leads it back.
 */
export const cookieOf = (provider: IdentityProvider, value: string, ageS: number): string =>
  `${cookieName(provider)}=${value}; Max-Age=${ageS}; Path=/; HttpOnly; SameSite=Lax${isOverTls(provider) ? '; Secure' : ''}`;
