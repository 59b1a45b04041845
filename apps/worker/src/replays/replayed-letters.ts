import { Inject, Injectable } from '@nestjs/common';
import { DeadLetterEndings, DeadLetterReader, DeadLetterService } from '@relay/dead-letters';
import { RetryQueue } from '@relay/retry';
import { RedisWebhookView } from '@relay/webhooks';

/** The lib's dead letters, with a constructor that Nest can inject. */
@Injectable()
export class ReplayedLetters extends DeadLetterService {
  constructor(
    box: DeadLetterReader,
    @Inject(RetryQueue) queue: RetryQueue,
    webhooks: RedisWebhookView,
    ends: DeadLetterEndings,
  ) {
    super(box, queue, webhooks, ends, Date.now);
  }
}
