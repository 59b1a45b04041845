import { createHash, randomBytes } from 'node:crypto';
import type { FailureLimiter } from '@relay/access';
import type { Keyring } from '@relay/keyring';
import { globalKey, isRedisAway } from '@relay/redis';
import { reasonOf } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import * as oauth from 'oauth4webapi';
import { z } from 'zod';
import { cookiesOf } from '../access/console-sessions.adapter.js';
import { ForeignAnswer, type Identified, type IdentityProvider } from './identity-provider.adapter.js';

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

/** A sign-in that is refused. The message is for the person; `reason` is for the log. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';

  /** @param status 403: the person is refused. 429: too many failures. 503: the provider or Redis is at fault */
  constructor(
    readonly status: 403 | 429 | 503,
    message: string,
    readonly reason: string,
    /** Whether the provider has identified the person. */
    readonly isKnown = false,
  ) {
    super(message);
  }
}

/**
 * The sign-ins of people at the identity provider. Nothing is stored before the provider has identified somebody. Then the
 * state of the sign-in is kept until its cookie expires, so that no answer of the provider opens two sessions.
 */
export class SignIns {
  constructor(
    /** Undefined if the configuration names no provider. */
    readonly provider: IdentityProvider | undefined,
    private readonly keyring: Pick<Keyring, 'encrypt' | 'decrypt'>,
    private readonly redis: Pick<Redis, 'set'>,
    private readonly failures: FailureLimiter,
  ) {}

  /**
   * Begins a sign-in. Returns the address to which the browser goes, and the cookie that it needs when it comes back.
   * @param place where the console opens afterwards; ignored unless it is a place of the console
   * @throws SignInRefused if the provider does not answer
   */
  async begin(provider: IdentityProvider, place: unknown): Promise<{ readonly url: string; readonly cookie: string }> {
    const { url, proof } = await provider.begin().catch((error: unknown) => {
      throw refusalOf(error, provider.settings.name);
    });
    const begun = { ...proof, place: Place.safeParse(place).data, endsAt: Date.now() + LIFE_MS };
    const sealed = this.keyring.encrypt(JSON.stringify(begun), CONTEXT, randomBytes(12));
    return { url, cookie: cookieOf(provider, sealed, LIFE_MS / 1_000) };
  }

  /**
   * Completes the sign-in of the browser that has this cookie.
   * @param answer query of the callback
   * @param address of the browser; its failures are counted
   * @throws SignInRefused
   */
  async complete(
    provider: IdentityProvider,
    answer: URLSearchParams,
    { cookie, address }: { readonly cookie: string | undefined; readonly address: string },
  ): Promise<Identified & { readonly place: string | undefined }> {
    const begun = cookiesOf(cookie, cookieName(provider)).map((sealed) => this.#open(sealed))[0];
    if (begun === undefined)
      throw new SignInRefused(
        403,
        'This browser began no sign-in within the last ten minutes.',
        'no sign-in was begun',
      );
    const key = `${address} sign-in`;
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
      throw refusalOf(error, provider.settings.name);
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

const isSecure = ({ settings }: IdentityProvider): boolean => settings.consoleUrl.startsWith('https:');
const cookieName = (provider: IdentityProvider): string =>
  isSecure(provider) ? '__Host-relay_sign_in' : 'relay_sign_in';

/** Browsers send the cookie when the provider leads them back, which `SameSite=Strict` forbids. */
const cookieOf = (provider: IdentityProvider, value: string, ageS: number): string =>
  `${cookieName(provider)}=${value}; Max-Age=${ageS}; Path=/; HttpOnly; SameSite=Lax${isSecure(provider) ? '; Secure' : ''}`;

/** Returns the `Set-Cookie` header that ends the sign-in of a browser. */
export const noSignIn = (provider: IdentityProvider): string => cookieOf(provider, '', 0);

/** Errors in the answer of a provider that cannot serve at the moment (RFC 6749 section 4.1.2.1). */
const BUSY = ['server_error', 'temporarily_unavailable'];

function refusalOf(error: unknown, name: string): SignInRefused {
  const reason = causesOf(error);
  if (error instanceof ForeignAnswer)
    return new SignInRefused(403, 'This answer does not belong to the sign-in that this browser began last.', reason);
  if (error instanceof oauth.AuthorizationResponseError) {
    const said = error.error === 'access_denied' ? 'access was denied' : error.error;
    const words = [`${name} ended the sign-in: ${said}.`, error.error_description ?? ''].join(' ').slice(0, 500);
    return new SignInRefused(BUSY.includes(error.error) ? 503 : 403, words.trim(), reason);
  }
  if (isRedisAway(error)) return new SignInRefused(503, 'Redis does not answer at the moment.', reason);
  if (error instanceof oauth.OperationProcessingError && error.code === oauth.JWT_TIMESTAMP_CHECK)
    return new SignInRefused(503, `The clocks of the relay and of ${name} differ by more than 30 seconds.`, reason);
  if (error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant')
    return new SignInRefused(403, `${name} does not accept the code: it was used before, or has expired.`, reason);
  if (error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError'))
    return new SignInRefused(503, `${name} does not answer at the moment.`, reason);
  return new SignInRefused(503, `The relay cannot accept what ${name} answered. Its log has the reason.`, reason);
}

/** Returns the messages of an error and its causes, and the error of a token endpoint. None of them contains a secret. */
export function causesOf(error: unknown): string {
  const { cause, error: code, error_description: said } = Object(error) as Record<string, unknown>;
  const parts = [reasonOf(error), code, said, cause instanceof Error ? causesOf(cause) : undefined];
  return parts
    .filter((part) => typeof part === 'string')
    .join(': ')
    .slice(0, 500);
}
