import { randomBytes } from 'node:crypto';
import type { Keyring } from '@relay/keyring';
import { newSigningSecret } from '@relay/webhooks';
import { positionIn, positionText, type ToldPosition } from './position.js';

const IV_BYTES = 12;

/** The signing secret of a partner's streams, and the positions told on them: both hold for every process with the same keys. */
export class StreamKeys {
  constructor(private readonly keyring: Keyring) {}

  /** The same until ENCRYPTION_KEYS begins with another key, so that a program under development can keep it. */
  secretOf(partnerId: string): string {
    const [, digest = ''] = this.keyring.hash(partnerId, ['listen', 'secret']).split('.');
    return newSigningSecret(Buffer.from(digest, 'base64url'));
  }

  /** Sealed, because offsets show how much others send. */
  sealed(partnerId: string, told: ToldPosition): string {
    return this.keyring.encrypt(positionText(told), contextOf(partnerId), randomBytes(IV_BYTES));
  }

  /** Undefined for a text that was not told to this partner. */
  opened(partnerId: string, sealed: string): ToldPosition | undefined {
    try {
      return positionIn(this.keyring.decrypt(sealed, contextOf(partnerId)));
    } catch {
      return undefined;
    }
  }
}

const contextOf = (partnerId: string): readonly string[] => ['listen', 'position', partnerId];
