import { Inject, Injectable } from '@nestjs/common';
import { DeadLetterBox, DeadLetterDesk, LetterEnds } from '@relay/operations';
import { RetryQueue } from '@relay/retry';
import { RedisWebhookView } from '@relay/webhooks';

/** The lib's dead letters, with a constructor that Nest can inject. */
@Injectable()
export class ReplayedLetters extends DeadLetterDesk {
  constructor(box: DeadLetterBox, @Inject(RetryQueue) queue: RetryQueue, webhooks: RedisWebhookView, ends: LetterEnds) {
    super(box, queue, webhooks, ends, Date.now);
  }
}
